import java.util.stream.Collectors;
import org.springframework.ai.chat.client.ChatClient;
import org.springframework.ai.openai.OpenAiChatModel;
import org.springframework.ai.openai.OpenAiChatOptions;
import org.springframework.ai.tool.annotation.Tool;

/** Spring AI, in front of a gateway. usage: SpringAI BASE_URL MODEL TASK */
public class SpringAI {
    static class Weather {
        @Tool(name = "get_weather", description = "The current weather of a city")
        public String of(String city) {
            return city.equals("Paris") ? "Paris: 21 degrees" : "Rome: 25 degrees";
        }
    }

    public static void main(String[] given) {
        String url = given[0], model = given[1], task = given[2];
        OpenAiChatOptions options = OpenAiChatOptions.builder().baseUrl(url).apiKey("none").model(model).build();
        ChatClient client = ChatClient.create(OpenAiChatModel.builder().options(options).build());
        if (task.equals("chat stream")) {
            System.out.println(client.prompt("What is an edge?").stream().content().toStream().collect(Collectors.joining()));
            System.exit(0); // the threads of its HTTP client would keep the program for a minute
        }
        System.out.println(client.prompt("Compare the weather in Paris and Rome.").tools(new Weather()).call().content());
    }
}
