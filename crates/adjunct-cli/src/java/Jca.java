// Run by `adjunct java`: java Jca.java probe CONFIG, or java Jca.java bench CONFIG MILLISECONDS ROW...
// Each line that it writes for the command begins with '@'; SunPKCS11 itself prints the others (showInfo).

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.ProviderException;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.Security;
import java.security.Signature;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.MGF1ParameterSpec;
import java.security.spec.PSSParameterSpec;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import javax.crypto.Cipher;
import javax.crypto.KeyAgreement;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

public class Jca {
    /** One call with a provider; null: whichever Java takes. It gives the provider that did it. */
    interface Call {
        Provider with(Provider provider) throws Exception;
    }

    /** A call, and the service that it is. */
    record Row(String type, String algorithm, Call call) {}

    static final Map<String, Row> ROWS = new LinkedHashMap<>();
    static final byte[] SHORT = new byte[64];
    static final byte[] LONG = new byte[16384];

    static Signature signature(String algorithm, Provider p) throws GeneralSecurityException {
        Signature s = p == null ? Signature.getInstance(algorithm) : Signature.getInstance(algorithm, p);
        if (algorithm.equals("RSASSA-PSS")) {
            s.setParameter(new PSSParameterSpec("SHA-256", "MGF1", MGF1ParameterSpec.SHA256, 32, 1));
        }
        return s;
    }

    static void signatures(String name, String algorithm, KeyPair pair) throws Exception {
        PrivateKey secret = pair.getPrivate();
        PublicKey open = pair.getPublic();
        ROWS.put(name + "-sign", new Row("Signature", algorithm, p -> {
            Signature s = signature(algorithm, p);
            s.initSign(secret);
            s.update(SHORT);
            s.sign();
            return s.getProvider();
        }));
        Signature made = signature(algorithm, null);
        made.initSign(secret);
        made.update(SHORT);
        byte[] good = made.sign();
        ROWS.put(name + "-verify", new Row("Signature", algorithm, p -> {
            Signature s = signature(algorithm, p);
            s.initVerify(open);
            s.update(SHORT);
            if (!s.verify(good)) {
                throw new GeneralSecurityException("a right signature was refused");
            }
            return s.getProvider();
        }));
    }

    /** A key for each connection, of which a server has more than the 16 that SunPKCS11 remembers. */
    static void gcm(String name, byte[] data) {
        Key[] keys = new Key[64];
        for (int i = 0; i < keys.length; i++) {
            byte[] key = new byte[16];
            key[0] = (byte) i;
            keys[i] = new SecretKeySpec(key, "AES");
        }
        long[] counter = new long[1];
        ROWS.put(name, new Row("Cipher", "AES/GCM/NoPadding", p -> {
            Cipher c = p == null ? Cipher.getInstance("AES/GCM/NoPadding") : Cipher.getInstance("AES/GCM/NoPadding", p);
            byte[] iv = new byte[12];
            long n = counter[0]++;
            for (int i = 0; i < 8; i++) {
                iv[i] = (byte) (n >>> (8 * i));
            }
            // A record goes and a record comes, each in place in a buffer, as TLS has them.
            Key mine = keys[(int) (n % keys.length)];
            ByteBuffer record = ByteBuffer.allocate(data.length + 16);
            record.put(data).flip();
            ByteBuffer plain = record.duplicate();
            record.limit(record.capacity());
            c.init(Cipher.ENCRYPT_MODE, mine, new GCMParameterSpec(128, iv));
            c.updateAAD(SHORT, 0, 13);
            c.doFinal(plain, record);
            record.flip();
            c.init(Cipher.DECRYPT_MODE, mine, new GCMParameterSpec(128, iv));
            c.updateAAD(SHORT, 0, 13);
            c.doFinal(record, record.duplicate());
            return c.getProvider();
        }));
    }

    static void digest(String name, byte[] data) {
        ROWS.put(name, new Row("MessageDigest", "SHA-256", p -> {
            MessageDigest d = p == null ? MessageDigest.getInstance("SHA-256") : MessageDigest.getInstance("SHA-256", p);
            d.update(data);
            // As TLS takes the hash of a handshake that goes on.
            byte[] first = ((MessageDigest) d.clone()).digest();
            if (!Arrays.equals(first, d.digest())) {
                throw new GeneralSecurityException("a copy of a digest gives another hash");
            }
            return d.getProvider();
        }));
    }

    static void rows() throws Exception {
        KeyPairGenerator rsa = KeyPairGenerator.getInstance("RSA");
        rsa.initialize(2048);
        KeyPair rsaPair = rsa.generateKeyPair();
        KeyPairGenerator ec = KeyPairGenerator.getInstance("EC");
        ec.initialize(new ECGenParameterSpec("secp256r1"));
        KeyPair ecPair = ec.generateKeyPair();
        signatures("rsa", "SHA256withRSA", rsaPair);
        signatures("rsa-pss", "RSASSA-PSS", rsaPair);
        Cipher seal = Cipher.getInstance("RSA/ECB/PKCS1Padding");
        seal.init(Cipher.ENCRYPT_MODE, rsaPair.getPublic());
        byte[] sealed = seal.doFinal(new byte[48]);
        ROWS.put("rsa-decrypt", new Row("Cipher", "RSA/ECB/PKCS1Padding", p -> {
            Cipher c = p == null ? Cipher.getInstance("RSA/ECB/PKCS1Padding") : Cipher.getInstance("RSA/ECB/PKCS1Padding", p);
            c.init(Cipher.DECRYPT_MODE, rsaPair.getPrivate());
            c.doFinal(sealed);
            return c.getProvider();
        }));
        signatures("ec", "SHA256withECDSA", ecPair);
        ROWS.put("ecdh", new Row("KeyAgreement", "ECDH", p -> {
            KeyPairGenerator g = p == null ? KeyPairGenerator.getInstance("EC") : KeyPairGenerator.getInstance("EC", p);
            g.initialize(new ECGenParameterSpec("secp256r1"));
            KeyAgreement a = p == null ? KeyAgreement.getInstance("ECDH") : KeyAgreement.getInstance("ECDH", p);
            a.init(g.generateKeyPair().getPrivate());
            a.doPhase(ecPair.getPublic(), true);
            a.generateSecret();
            return a.getProvider();
        }));
        digest("sha256-64", SHORT);
        digest("sha256-16k", LONG);
        ROWS.put("hmac", new Row("Mac", "HmacSHA256", p -> {
            Mac m = p == null ? Mac.getInstance("HmacSHA256") : Mac.getInstance("HmacSHA256", p);
            m.init(new SecretKeySpec(Arrays.copyOf(SHORT, 32), "HmacSHA256"));
            m.doFinal(SHORT);
            return m.getProvider();
        }));
        gcm("gcm-64", SHORT);
        gcm("gcm-16k", LONG);
        // One generator for all calls, as programs have it.
        Map<Provider, SecureRandom> generators = new java.util.IdentityHashMap<>();
        SecureRandom own = new SecureRandom();
        ROWS.put("random", new Row("SecureRandom", "PKCS11", p -> {
            SecureRandom r = own;
            if (p != null) {
                r = generators.get(p);
                if (r == null) {
                    generators.put(p, r = SecureRandom.getInstance("PKCS11", p));
                }
            }
            r.nextBytes(new byte[32]);
            return r.getProvider();
        }));
    }

    /** What went wrong: the words of the PKCS #11 error, where there is one. */
    static String why(Throwable t) {
        String text = t.toString();
        for (Throwable c = t; c != null; c = c.getCause()) {
            if (String.valueOf(c.getMessage()).startsWith("CKR_")) {
                return c.getMessage();
            }
            text = c.getMessage() == null ? c.getClass().getSimpleName() : c.getMessage();
        }
        return text;
    }

    static void say(Object... fields) {
        StringBuilder line = new StringBuilder("@");
        for (Object field : fields) {
            line.append('\t').append(String.valueOf(field).replaceAll("\\s+", " "));
        }
        System.out.println(line);
        System.out.flush();
    }

    static Provider configured(String config) {
        return Security.getProvider("SunPKCS11").configure(config);
    }

    static void probe(String config) throws Exception {
        rows();
        Provider p = configured(config);
        Security.insertProviderAt(p, 1);
        for (Map.Entry<String, Row> entry : ROWS.entrySet()) {
            Row row = entry.getValue();
            boolean offered = p.getService(row.type(), row.algorithm()) != null;
            String by;
            String error = "";
            try {
                by = row.call().with(null).getName();
            } catch (Exception | Error e) {
                by = "";
                error = why(e);
            }
            // The generator of the JDK was made before the provider was there.
            if (entry.getKey().equals("random")) {
                by = new SecureRandom().getProvider().getName();
            }
            if (offered && !by.equals(p.getName())) {
                try {
                    row.call().with(p);
                } catch (Exception | Error e) {
                    error = why(e);
                }
            }
            say("served", entry.getKey(), row.type() + "." + row.algorithm(), offered, by, error);
        }
    }

    /** Nanoseconds of one of n calls. */
    static double batch(Call call, Provider p, int n) throws Exception {
        long start = System.nanoTime();
        for (int i = 0; i < n; i++) {
            call.with(p);
        }
        return (System.nanoTime() - start) / (double) n;
    }

    static double median(double[] values, int n) {
        double[] sorted = Arrays.copyOf(values, n);
        Arrays.sort(sorted);
        return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    }

    /** Both sides by turns: the machine's noise meets them alike. */
    static void measure(String name, Row row, Provider p, long milliseconds) {
        String by = "";
        try {
            by = row.call().with(null).getName();
        } catch (Exception | Error e) {
            say("failed", name, "jdk", why(e));
            return;
        }
        boolean offered = p.getService(row.type(), row.algorithm()) != null;
        if (!offered) {
            say("absent", name, by);
            return;
        }
        try {
            Provider[] sides = {null, p};
            int[] calls = {1, 1};
            long begun = System.nanoTime();
            long limit = begun + milliseconds * 400_000;
            // Until the compiler has done its work: after some thousand calls, and once they get no faster. As many calls by turns as take
            // a millisecond or two.
            double[] best = {Double.MAX_VALUE, Double.MAX_VALUE};
            long faster = begun;
            long done = 0;
            for (long now = begun; now < limit || (done < 3000 && now - begun < 1_500_000_000L)
                    || (now - faster < 300_000_000L && now - begun < 5_000_000_000L); now = System.nanoTime()) {
                int fewest = Math.min(calls[0], calls[1]);
                for (int side = 0; side < 2; side++) {
                    double one = batch(row.call(), sides[side], calls[side]);
                    calls[side] = (int) Math.max(1, Math.min(2000, 1.5e6 / one));
                    if (one < 0.9 * best[side]) {
                        best[side] = one;
                        faster = System.nanoTime();
                    }
                }
                done += fewest;
            }
            double[][] times = new double[2][4096];
            int n = 0;
            limit = System.nanoTime() + milliseconds * 600_000;
            while (n < 5 || (System.nanoTime() < limit && n < 4096)) {
                for (int side = 0; side < 2; side++) {
                    int s = (side + n) % 2;
                    times[s][n] = batch(row.call(), sides[s], calls[s]);
                }
                n++;
            }
            say("row", name, by, median(times[0], n), median(times[1], n), n);
        } catch (Exception | Error e) {
            say("failed", name, "module", why(e));
        }
    }

    public static void main(String[] args) throws Exception {
        try {
            if (args[0].equals("probe")) {
                probe(args[1]);
                return;
            }
            rows();
            Provider p = configured(args[1]);
            for (int i = 3; i < args.length; i++) {
                say("start", args[i]);
                measure(args[i], ROWS.get(args[i]), p, Long.parseLong(args[2]));
            }
        } catch (ProviderException | IllegalArgumentException e) {
            say("fatal", why(e));
            System.exit(3);
        }
        System.exit(0);
    }
}
