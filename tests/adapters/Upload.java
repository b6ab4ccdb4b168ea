import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Sends each argument after the first as a body to the address that the first names, all on one client. */
class Upload {
    public static void main(String[] arguments) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        for (int i = 1; i < arguments.length; i++) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(arguments[0]))
                .POST(HttpRequest.BodyPublishers.ofString(arguments[i]))
                .build();
            System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode());
        }
    }
}
