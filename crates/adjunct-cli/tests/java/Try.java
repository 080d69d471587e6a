// java Try.java LIST: for each file that a line of LIST names, whether SunPKCS11 takes it, and with which words it does not.

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.InvalidParameterException;
import java.security.Provider;
import java.security.ProviderException;
import java.security.Security;

public class Try {
    public static void main(String[] args) throws Exception {
        Provider base = Security.getProvider("SunPKCS11");
        for (String file : Files.readAllLines(Path.of(args[0]))) {
            String said;
            try {
                base.configure(file);
                said = "taken";
            } catch (ProviderException | UnsupportedOperationException e) {
                // The file was read, and its library is not there.
                said = "taken";
            } catch (InvalidParameterException e) {
                said = e.getCause().getMessage();
            } catch (RuntimeException e) {
                said = e.getMessage();
            }
            StringBuilder plain = new StringBuilder();
            said.chars().forEach(c -> plain.append(c >= ' ' && c <= '~' ? String.valueOf((char) c) : String.format("\\u%04x", c)));
            System.out.println(plain);
        }
    }
}
