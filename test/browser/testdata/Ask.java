import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

// Ask reads lines "NAME PORT MILLISECONDS" and fetches http://NAME:PORT/ for each
// over a connection of its own, by addresses from the platform's cache of names.
// It writes a line for each: the page's last line, or "error" and why.
public final class Ask {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            try {
                System.out.println(fetch(words[0], Integer.parseInt(words[1]), Integer.parseInt(words[2])));
            } catch (Exception e) {
                System.out.println("error " + e);
            }
            System.out.flush();
        }
    }

    private static String fetch(String name, int port, int limit) throws Exception {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(InetAddress.getByName(name), port), limit);
            socket.setSoTimeout(limit);
            String request = "GET / HTTP/1.1\r\nHost: " + name + "\r\nConnection: close\r\n\r\n";
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            String page = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).stripTrailing();
            return page.substring(page.lastIndexOf('\n') + 1);
        }
    }
}
