# OpenVPN, which has no suite of its own in Debian: what it lists, its test of each cipher, and tunnels between two of it, by each cipher
# that TLS negotiates; on the suite's openvpn.

bring() { :; }

# passed or failed by the command that follows the name.
outcome() {
    local name=$1
    shift
    if "$@"; then echo "passed $name" >&3; else echo "failed $name" >&3; fi
}

# A tunnel over loopback, without a device, by one cipher: both sides say that they are set up, and with which.
tunnel() {
    local cipher=$1 port=$2 common side jobs=() code=0
    common=(--dev null --proto udp --tls-cert-profile preferred --peer-fingerprint "$(fingerprint)" --cert cert.pem --key key.pem
        --data-ciphers "$cipher" --auth SHA256 --ping 1 --verb 4 --connect-timeout 10 --suppress-timestamps)
    openvpn "${common[@]}" --tls-server --dh none --lport "$port" --local 127.0.0.1 >"$cipher.server" 2>&1 &
    jobs+=($!)
    openvpn "${common[@]}" --tls-client --nobind --remote 127.0.0.1 "$port" >"$cipher.client" 2>&1 &
    jobs+=($!)
    for side in server client; do
        timeout 40 sh -c "until grep -q 'Initialization Sequence Completed' $cipher.$side; do sleep 0.2; done" || code=1
        grep -q "Data Channel: cipher '$cipher'\|Data Channel.*Cipher '$cipher'\|Outgoing Data Channel: Cipher '$cipher'" "$cipher.$side" || code=1
    done
    # Some pings, each of which is a packet encrypted and one decrypted.
    sleep 2
    kill "${jobs[@]}" 2>/dev/null
    wait "${jobs[@]}"
    ! grep -qiE 'authenticate/decrypt packet error|bad packet|cipher final failed' "$cipher.server" "$cipher.client" || code=1
    [ "$code" -eq 0 ] || tail -n 15 "$cipher.server" "$cipher.client"
    return "$code"
}

fingerprint() { openssl x509 -in cert.pem -noout -fingerprint -sha256 | sed 's/.*=//'; }

tests() {
    local what name port=20000
    # What it lists, each name once: with two providers of an algorithm it lists the name twice, with any.
    for what in ciphers digests tls curves; do
        openvpn "--show-$what" | sed -n -E 's/^([A-Z0-9][^ ]*)( .*)?$/\1/p' | sort -u >"listed-$what"
        while read -r name; do echo "passed lists-$what-$name" >&3; done <"listed-$what"
    done
    openvpn --genkey secret static.key
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 30 -subj /CN=peer
    while read -r name; do
        case $name in
            *-CBC) outcome "test-crypto-$name" openvpn --test-crypto --secret static.key --cipher "$name" --verb 1 ;;
        esac
    done <listed-ciphers
    for name in AES-256-GCM AES-128-GCM CHACHA20-POLY1305 AES-256-CBC; do
        port=$((port + 1))
        outcome "tunnel-$name" tunnel "$name" "$port"
    done
    echo end >&3
}
