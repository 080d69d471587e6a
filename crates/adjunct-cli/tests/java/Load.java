// java Load.java FILE: whether SunPKCS11 can be made of a configuration on NSS, which a JVM loads once; else why not.

import java.security.Provider;
import java.security.Security;

public class Load {
    public static void main(String[] args) {
        try {
            Provider made = Security.getProvider("SunPKCS11").configure(args[0]);
            System.out.println("loaded " + made.getName());
        } catch (RuntimeException e) {
            System.out.println("failed " + e.getMessage() + (e.getCause() == null ? "" : ": " + e.getCause().getMessage()));
        }
    }
}
