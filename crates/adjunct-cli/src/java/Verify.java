// Run by `adjunct java verify`: java -Djava.security.properties=FILE Verify.java BYTES (NAME PROTOCOL KEYSTORE)...
// It makes TLS handshakes with itself, and says which provider Java asked for which service, by the events of its flight recorder.
// Each line for the command begins with '@'; after "pause" it waits for a line.

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.Provider;
import java.security.SecureRandom;
import java.security.Security;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

public class Verify {
    static final char[] PASSWORD = "changeit".toCharArray();

    static void say(Object... fields) {
        StringBuilder line = new StringBuilder("@");
        for (Object field : fields) {
            line.append('\t').append(String.valueOf(field).replaceAll("\\s+", " "));
        }
        System.out.println(line);
        System.out.flush();
    }

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

    /** A new context for each handshake: nothing is resumed. */
    static SSLContext context(String protocol, KeyStore keys) throws Exception {
        KeyManagerFactory mine = KeyManagerFactory.getInstance("SunX509");
        // This one opens the keys here, not in the handshake.
        mine.init(keys, PASSWORD);
        TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
        KeyStore roots = KeyStore.getInstance("PKCS12");
        roots.load(null, null);
        roots.setCertificateEntry("root", keys.getCertificate(keys.aliases().nextElement()));
        trust.init(roots);
        SSLContext context = SSLContext.getInstance(protocol);
        context.init(mine.getKeyManagers(), trust.getTrustManagers(), null);
        return context;
    }

    /** One handshake, and so many bytes each way; the server's and the client's part in threads of those names and the mark. */
    static String handshake(SSLContext context, String protocol, int bytes, String mark) throws Exception {
        Throwable[] wrong = new Throwable[2];
        String[] suite = new String[1];
        try (SSLServerSocket listener = (SSLServerSocket) context.getServerSocketFactory()
                .createServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress())) {
            listener.setSoTimeout(30_000);
            listener.setEnabledProtocols(new String[] {protocol});
            Thread server = new Thread(() -> {
                try (SSLSocket socket = (SSLSocket) listener.accept()) {
                    socket.setSoTimeout(30_000);
                    byte[] data = socket.getInputStream().readNBytes(bytes);
                    socket.getOutputStream().write(data);
                    socket.getOutputStream().flush();
                    suite[0] = socket.getSession().getCipherSuite();
                    socket.getInputStream().read();
                } catch (Throwable t) {
                    wrong[0] = t;
                }
            }, "server" + mark);
            Thread client = new Thread(() -> {
                try (SSLSocket socket = (SSLSocket) context.getSocketFactory()
                        .createSocket(listener.getInetAddress(), listener.getLocalPort())) {
                    socket.setSoTimeout(30_000);
                    socket.setEnabledProtocols(new String[] {protocol});
                    OutputStream out = socket.getOutputStream();
                    out.write(new byte[bytes]);
                    out.flush();
                    InputStream in = socket.getInputStream();
                    if (in.readNBytes(bytes).length != bytes) {
                        throw new java.io.EOFException("the connection ended early");
                    }
                } catch (Throwable t) {
                    wrong[1] = t;
                }
            }, "client" + mark);
            server.start();
            client.start();
            client.join();
            if (wrong[1] != null) {
                listener.close();
            }
            server.join();
        }
        // The other side of a failure knows less: it was told by an alert.
        Throwable cause = wrong[0] == null || String.valueOf(wrong[0]).contains("Received fatal alert") && wrong[1] != null
            ? wrong[1] : wrong[0];
        if (cause != null) {
            throw new Exception(why(cause), cause);
        }
        return suite[0];
    }

    static String base(String algorithm) {
        int slash = algorithm.indexOf('/');
        return slash < 0 ? algorithm : algorithm.substring(0, slash);
    }

    /** A place in the list of providers; those not in the list stand behind it. */
    static int place(Map<String, Integer> places, String provider) {
        return places.getOrDefault(provider, Integer.MAX_VALUE);
    }

    /**
     * Where a provider refuses a key, Java asks the next one for the same service, and so on down the list: of the events of a thread for
     * one service, each that stands further down than the one before belongs to the same call, and the last of them served it.
     */
    static void events(Path file, Provider[] configured) throws Exception {
        Map<String, Integer> places = new LinkedHashMap<>();
        for (Provider p : Security.getProviders()) {
            places.put(p.getName(), places.size());
        }
        List<RecordedEvent> events = new ArrayList<>(RecordingFile.readAllEvents(file));
        events.removeIf(e -> !e.getEventType().getName().equals("jdk.SecurityProviderService"));
        events.sort(Comparator.comparing(RecordedEvent::getStartTime));
        Map<String, List<String[]>> calls = new LinkedHashMap<>();
        for (RecordedEvent e : events) {
            RecordedThread thread = e.getThread();
            String name = thread == null || thread.getJavaName() == null ? "" : thread.getJavaName();
            // Threads of handshakes that are not looked at have no mark.
            if ((name.startsWith("server\t") || name.startsWith("client\t")) && e.getString("algorithm") != null) {
                String key = name + "\t" + e.getString("type") + "\t" + base(e.getString("algorithm"));
                calls.computeIfAbsent(key, k -> new ArrayList<>())
                    .add(new String[] {e.getString("algorithm"), e.getString("provider")});
            }
        }
        Map<List<String>, Integer> served = new LinkedHashMap<>();
        for (Map.Entry<String, List<String[]>> entry : calls.entrySet()) {
            String[] key = entry.getKey().split("\t");
            List<String[]> all = entry.getValue();
            for (int i = 0; i < all.size(); i++) {
                String first = all.get(i)[1];
                while (i + 1 < all.size() && place(places, all.get(i + 1)[1]) > place(places, all.get(i)[1])) {
                    i++;
                }
                String algorithm = all.get(i)[0];
                boolean offered = false;
                for (Provider p : configured) {
                    offered |= p.getService(key[2], algorithm) != null;
                }
                served.merge(List.of(key[1], key[0], key[2], algorithm, first, all.get(i)[1], String.valueOf(offered)), 1,
                    Integer::sum);
            }
        }
        for (Map.Entry<List<String>, Integer> entry : served.entrySet()) {
            List<Object> fields = new ArrayList<>(List.of("served"));
            fields.addAll(entry.getKey());
            fields.add(entry.getValue());
            say(fields.toArray());
        }
    }

    public static void main(String[] args) throws Exception {
        Provider[] configured = java.util.Arrays.stream(Security.getProviders())
            .filter(p -> p.getName().startsWith("SunPKCS11-")).toArray(Provider[]::new);
        if (configured.length == 0) {
            say("absent");
            System.exit(0);
        }
        for (Provider p : configured) {
            say("provider", p.getName(), List.of(Security.getProviders()).indexOf(p) + 1);
        }
        say("random", new SecureRandom().getProvider().getName());
        int bytes = Integer.parseInt(args[0]);
        // One for all: the words of a second recording's events may stand in the first one's pool.
        Recording recording = new Recording();
        recording.enable("jdk.SecurityProviderService").withoutStackTrace();
        recording.start();
        for (int i = 1; i + 2 < args.length; i += 3) {
            say("handshake", args[i]);
            KeyStore keys = KeyStore.getInstance("PKCS12");
            try (InputStream in = Files.newInputStream(Path.of(args[i + 2]))) {
                keys.load(in, PASSWORD);
            }
            try {
                // What Java asks for once in its life is none of a handshake's.
                handshake(context(args[i + 1], keys), args[i + 1], 1, "");
                SSLContext context = context(args[i + 1], keys);
                say("pause", "before", args[i]);
                System.in.read();
                String suite = handshake(context, args[i + 1], bytes, "\t" + args[i]);
                say("pause", "after", args[i]);
                System.in.read();
                say("suite", suite);
            } catch (Exception | Error e) {
                say("failed", why(e));
            }
        }
        recording.stop();
        Path file = Path.of("verify.jfr");
        recording.dump(file);
        events(file, configured);
        System.exit(0);
    }
}
