import dev.langchain4j.agent.tool.P;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import dev.langchain4j.service.AiServices;
import java.util.concurrent.CompletableFuture;

/** LangChain4j, in front of a gateway. usage: LangChain4j BASE_URL MODEL TASK */
public class LangChain4j {
    interface Assistant {
        String answer(String question);
    }

    static class Weather {
        @Tool(name = "get_weather", value = "The current weather of a city")
        public String of(@P(name = "city", value = "the city") String city) {
            return city.equals("Paris") ? "Paris: 21 degrees" : "Rome: 25 degrees";
        }
    }

    public static void main(String[] given) throws Exception {
        String url = given[0], model = given[1], task = given[2];
        if (task.equals("chat stream")) {
            CompletableFuture<String> text = new CompletableFuture<>();
            OpenAiStreamingChatModel.builder().baseUrl(url).apiKey("none").modelName(model).build()
                .chat("What is an edge?", new StreamingChatResponseHandler() {
                    private final StringBuilder pieces = new StringBuilder();

                    @Override
                    public void onPartialResponse(String piece) {
                        pieces.append(piece);
                    }

                    @Override
                    public void onCompleteResponse(ChatResponse response) {
                        text.complete(pieces.toString());
                    }

                    @Override
                    public void onError(Throwable error) {
                        text.completeExceptionally(error);
                    }
                });
            System.out.println(text.get());
            return;
        }
        boolean thinks = task.equals("chat tools, thinking");
        OpenAiChatModel chat = OpenAiChatModel.builder().baseUrl(url).apiKey("none").modelName(model).maxRetries(0)
            .returnThinking(thinks).sendThinking(thinks).build();
        System.out.println(AiServices.builder(Assistant.class).chatModel(chat).tools(new Weather()).build()
            .answer("Compare the weather in Paris and Rome."));
    }
}
