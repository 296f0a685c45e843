//! Asks a gateway whose server fails, through async-openai, and prints what its users see.
use async_openai::{config::OpenAIConfig, types, Client};
use futures::StreamExt;
use serde_json::{from_value, json};

/// Returns the chat's text, or the last event of a response.
async fn ask(url: &str, chat: bool) -> Result<String, String> {
    let client = Client::with_config(OpenAIConfig::new().with_api_base(url).with_api_key("none"));
    let mut seen = String::new();
    if chat {
        let asked: types::chat::CreateChatCompletionRequest = from_value(json!({
            "model": "gpt-oss-120b", "messages": [{"role": "user", "content": "Hi"}], "stream": true}))
        .unwrap();
        let mut stream = client.chat().create_stream(asked).await.map_err(|e| e.to_string())?;
        while let Some(chunk) = stream.next().await {
            for choice in chunk.map_err(|e| e.to_string())?.choices {
                seen += choice.delta.content.as_deref().unwrap_or("");
            }
        }
    } else {
        let asked: types::responses::CreateResponse =
            from_value(json!({"model": "gpt-oss-120b", "input": "Hi", "stream": true})).unwrap();
        let mut stream = client.responses().create_stream(asked).await.map_err(|e| e.to_string())?;
        while let Some(event) = stream.next().await {
            let shown = format!("{:?}", event.map_err(|e| e.to_string())?);
            seen = format!("{} < {}", shown.split('(').next().unwrap(), seen.split(" < ").next().unwrap());
        }
    }
    Ok(seen)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = std::env::args().nth(1).expect("usage: failingclients BASE_URL");
    for (api, chat) in [("Responses", false), ("Chat", true)] {
        let seen = match ask(&url, chat).await {
            Ok(text) => format!("no error: {text:?}"),
            Err(e) => format!("raises {}", &e[..e.len().min(100)]),
        };
        println!("{:22} {api:10} {seen}", "async-openai 0.43.0");
    }
}
