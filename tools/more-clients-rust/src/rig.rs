//! rig, in front of a gateway. usage: rig BASE_URL MODEL TASK
//!
//! The tasks are those of e2e/moreclients. What the user would read is printed.

use futures::StreamExt;
use rig_core::DynModel;
use rig_core::completion::message::ToolResultContent;
use rig_core::completion::{CompletionRequest, Message, ToolDefinition};
use rig_core::operation::Completion;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::streaming::{Item, StreamEvent};
use serde_json::json;

type Failure = Box<dyn std::error::Error>;

fn weather(city: Option<&str>) -> String {
    match city {
        Some("Paris") => "Paris: 21 degrees".into(),
        Some("Rome") => "Rome: 25 degrees".into(),
        other => format!("no city {other:?}"),
    }
}

async fn stream(model: &DynModel<Completion>) -> Result<(), Failure> {
    let mut events = model.stream(CompletionRequest::new("What is an edge?"))?;
    while let Some(item) = events.next().await {
        if let Item::Event(StreamEvent::Text { text, .. }) = item? {
            print!("{text}");
        }
    }
    println!();
    Ok(())
}

async fn tools(model: &DynModel<Completion>) -> Result<(), Failure> {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let tool = ToolDefinition::new("get_weather".try_into()?, "The current weather of a city", parameters);
    let mut history: Vec<Message> = vec![];
    let mut prompt = Message::user("Compare the weather in Paris and Rome.");
    loop {
        let request = CompletionRequest::new(prompt.clone())
            .messages(history.clone())
            .tool(tool.clone());
        let answer = model.call(request).await?;
        let results: Vec<_> = answer
            .tool_calls()
            .map(|call| {
                let city = call.function.arguments.get("city").and_then(|city| city.as_str());
                call.result(vec![ToolResultContent::text(weather(city))])
            })
            .collect();
        if results.is_empty() {
            println!("{}", answer.text());
            return Ok(());
        }
        history.push(prompt);
        history.extend(answer.message());
        prompt = Message::tool_results(results);
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let given: Vec<String> = std::env::args().collect();
    let [_, url, model, task] = given.as_slice() else {
        return Err("usage: rig BASE_URL MODEL TASK".into());
    };
    let client = OpenAIConfig::new("none").with_base_url(url).client();
    match task.as_str() {
        "chat stream" => stream(&client.chat(model).erase()).await,
        "chat tools" => tools(&client.chat(model).erase()).await,
        "responses stream" => stream(&client.responses(model).erase()).await,
        "responses tools" => tools(&client.responses(model).erase()).await,
        _ => Err(format!("no task {task:?}").into()),
    }
}
