import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiResponsesStreamingChatModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Asks a gateway whose server fails, through LangChain4j, and prints what its users see. */
public class Client {
  static StreamingChatModel model(String url, boolean chat) {
    return chat
        ? OpenAiStreamingChatModel.builder().baseUrl(url).apiKey("none").modelName("gpt-oss-120b").build()
        : OpenAiResponsesStreamingChatModel.builder().baseUrl(url).apiKey("none").modelName("gpt-oss-120b").build();
  }

  public static void main(String[] args) throws Exception {
    for (String api : new String[] {"Responses", "Chat"}) {
      CompletableFuture<String> seen = new CompletableFuture<>();
      model(args[0], api.equals("Chat")).chat("Hi", new StreamingChatResponseHandler() {
        @Override
        public void onPartialResponse(String text) {}

        @Override
        public void onCompleteResponse(ChatResponse r) {
          seen.complete("no error: " + r.aiMessage().text());
        }

        @Override
        public void onError(Throwable e) {
          seen.complete("raises " + e.getClass().getSimpleName() + ": " + e.getMessage());
        }
      });
      System.out.printf("%-22s %-10s %s%n", "LangChain4j 1.19.0", api, seen.get(30, TimeUnit.SECONDS));
    }
    System.exit(0);
  }
}
