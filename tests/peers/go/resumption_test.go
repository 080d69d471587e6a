// TLS 1.3 of Go's own library over the digests of golang-fips/openssl: a server copies the digest of the handshake to see whether a
// session may be resumed.
package resumption

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/golang-fips/openssl/v2"
)

func init() {
	if err := openssl.Init("libcrypto.so.3"); err != nil {
		panic(err)
	}
	crypto.RegisterHash(crypto.SHA256, openssl.NewSHA256)
	crypto.RegisterHash(crypto.SHA384, openssl.NewSHA384)
}

func certificate(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestResumption(t *testing.T) {
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate(t)}, MinVersion: tls.VersionTLS13})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func(conn net.Conn) {
				defer conn.Close()
				io.Copy(conn, conn)
			}(conn)
		}
	}()
	config := &tls.Config{InsecureSkipVerify: true, ServerName: "localhost", ClientSessionCache: tls.NewLRUClientSessionCache(4)}
	for round := 0; round < 5; round++ {
		conn, err := tls.Dial("tcp", listener.Addr().String(), config)
		if err != nil {
			t.Fatalf("connection %d: %v", round, err)
		}
		// The answer comes after the tickets.
		if _, err := conn.Write([]byte("echo")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		state := conn.ConnectionState()
		conn.Close()
		if state.Version != tls.VersionTLS13 || state.DidResume != (round > 0) {
			t.Fatalf("connection %d: version %x, resumed %v", round, state.Version, state.DidResume)
		}
	}
}
