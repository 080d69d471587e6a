// Run by `adjunct bench java` with JMeter's Java DSL on the class path: Load THREADS USERS THINK-MS new|kept
// For each line "URL WARM-UP-SECONDS SECONDS" that it reads it drives the load and writes "@ start", "@ end ..." and, once all is quiet,
// "@ done". Times are in milliseconds.

import static us.abstracta.jmeter.javadsl.JmeterDsl.constantTimer;
import static us.abstracta.jmeter.javadsl.JmeterDsl.httpDefaults;
import static us.abstracta.jmeter.javadsl.JmeterDsl.httpSampler;
import static us.abstracta.jmeter.javadsl.JmeterDsl.jsr223PostProcessor;
import static us.abstracta.jmeter.javadsl.JmeterDsl.testPlan;
import static us.abstracta.jmeter.javadsl.JmeterDsl.threadGroup;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import us.abstracta.jmeter.javadsl.core.engines.EmbeddedJmeterEngine;

public class Load {
    /** What is measured between start and end. */
    static class Window {
        final LongAdder connected = new LongAdder();
        final LongAdder errors = new LongAdder();
        final AtomicInteger requests = new AtomicInteger();
        /** Response times in milliseconds, the unit of JMeter's clock here. */
        final int[] times = new int[1 << 21];
        volatile String error = "";

        void add(long time, boolean fresh, boolean good, String message) {
            if (fresh) {
                connected.increment();
            }
            if (!good) {
                errors.increment();
                error = message;
            }
            int n = requests.getAndIncrement();
            if (n < times.length) {
                times[n] = (int) time;
            }
        }

        void say(double seconds) {
            int n = requests.get();
            int[] sorted = Arrays.copyOf(times, Math.min(n, times.length));
            Arrays.sort(sorted);
            int last = Math.max(0, sorted.length - 1);
            if (sorted.length == 0) {
                sorted = new int[1];
            }
            System.out.println("@ end " + n + " " + seconds + " " + Arrays.stream(sorted).average().orElse(0) + " " + sorted[last / 2]
                + " " + sorted[(int) (last * 0.99)] + " " + sorted[last] + " " + connected.sum() + " " + errors.sum() + " "
                + error.replaceAll("\\s+", " "));
            System.out.flush();
        }
    }

    static volatile Window window;
    static final AtomicInteger USER = new AtomicInteger();

    static void row(String url, int threads, int users, long think, boolean fresh, double warm, double seconds) throws Exception {
        Thread clock = new Thread(() -> {
            try {
                Thread.sleep((long) (warm * 1000));
                Window now = new Window();
                System.out.println("@ start");
                System.out.flush();
                long start = System.nanoTime();
                window = now;
                Thread.sleep((long) (seconds * 1000));
                window = null;
                now.say((System.nanoTime() - start) / 1e9);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        clock.setDaemon(true);
        clock.start();
        testPlan(
            httpDefaults().resetConnectionsBetweenIterations(fresh),
            threadGroup("users", threads, Duration.ofSeconds((long) Math.ceil(warm + seconds + 0.3)),
                httpSampler("hello", vars -> url + "?user=" + Math.floorMod(USER.getAndIncrement(), users)),
                jsr223PostProcessor(s -> {
                    Window now = window;
                    if (now != null) {
                        now.add(s.prev.getTime(), s.prev.getConnectTime() > 0, s.prev.isSuccessful(), s.prev.getResponseMessage());
                    }
                }),
                constantTimer(Duration.ofMillis(think)))
        ).runIn(new EmbeddedJmeterEngine()
            // A user who comes anew has no session to resume.
            .prop("https.use.cached.ssl.context", fresh ? "false" : "true")
            .prop("https.sessioncontext.shared", "false"));
        clock.join();
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            row(words[0], Integer.parseInt(args[0]), Integer.parseInt(args[1]), Long.parseLong(args[2]), args[3].equals("new"),
                Double.parseDouble(words[1]), Double.parseDouble(words[2]));
            System.out.println("@ done");
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }
}
