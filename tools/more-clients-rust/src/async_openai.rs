//! async-openai, in front of a gateway. usage: async-openai BASE_URL MODEL TASK
//!
//! The tasks are those of e2e/moreclients. What the user would read is printed.

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::CreateChatCompletionRequest;
use async_openai::types::responses::{CreateResponse, OutputItem};
use futures::StreamExt;
use serde_json::{Value, json};

const HELLO: &str = "What is an edge?";
const COMPARE: &str = "Compare the weather in Paris and Rome.";

type Failure = Box<dyn std::error::Error>;

fn weather(arguments: &str) -> Result<String, Failure> {
    let asked: Value = serde_json::from_str(arguments)?;
    Ok(match asked["city"].as_str() {
        Some("Paris") => "Paris: 21 degrees".into(),
        Some("Rome") => "Rome: 25 degrees".into(),
        other => format!("no city {other:?}"),
    })
}

fn parameters() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
}

fn chat(model: &str, messages: &[Value], stream: bool) -> Result<CreateChatCompletionRequest, Failure> {
    let mut request = json!({"model": model, "messages": messages, "tools": [{"type": "function", "function": {
        "name": "get_weather", "description": "The current weather of a city", "parameters": parameters()}}]});
    if stream {
        request["stream"] = json!(true);
    }
    Ok(serde_json::from_value(request)?)
}

fn response(model: &str, input: &[Value], stream: bool) -> Result<CreateResponse, Failure> {
    let mut request = json!({"model": model, "input": input, "store": false, "tools": [{"type": "function",
        "name": "get_weather", "description": "The current weather of a city", "parameters": parameters(),
        "strict": false}]});
    if stream {
        request["stream"] = json!(true);
    }
    Ok(serde_json::from_value(request)?)
}

async fn chat_stream(client: &Client<OpenAIConfig>, model: &str) -> Result<(), Failure> {
    let mut stream = client
        .chat()
        .create_stream(chat(model, &[json!({"role": "user", "content": HELLO})], true)?)
        .await?;
    while let Some(chunk) = stream.next().await {
        for choice in chunk?.choices {
            print!("{}", choice.delta.content.unwrap_or_default());
        }
    }
    println!();
    Ok(())
}

async fn chat_tools(client: &Client<OpenAIConfig>, model: &str) -> Result<(), Failure> {
    let mut messages = vec![json!({"role": "user", "content": COMPARE})];
    loop {
        let answer = client.chat().create(chat(model, &messages, false)?).await?;
        let message = serde_json::to_value(&answer.choices[0].message)?;
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        if calls.is_empty() {
            println!("{}", message["content"].as_str().unwrap_or_default());
            return Ok(());
        }
        messages.push(message);
        for call in calls {
            let result = weather(call["function"]["arguments"].as_str().unwrap_or_default())?;
            messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": result}));
        }
    }
}

async fn responses_stream(client: &Client<OpenAIConfig>, model: &str) -> Result<(), Failure> {
    let input = [json!({"type": "message", "role": "user", "content": HELLO})];
    let mut stream = client.responses().create_stream(response(model, &input, true)?).await?;
    while let Some(event) = stream.next().await {
        let event = serde_json::to_value(event?)?;
        if event["type"] == "response.output_text.delta" {
            print!("{}", event["delta"].as_str().unwrap_or_default());
        }
    }
    println!();
    Ok(())
}

async fn responses_tools(client: &Client<OpenAIConfig>, model: &str) -> Result<(), Failure> {
    let mut input = vec![json!({"type": "message", "role": "user", "content": COMPARE})];
    loop {
        let answer = client.responses().create(response(model, &input, false)?).await?;
        let mut results = vec![];
        for item in &answer.output {
            input.push(serde_json::to_value(item)?);
            if let OutputItem::FunctionCall(call) = item {
                results.push(json!({"type": "function_call_output", "call_id": call.call_id,
                    "output": weather(&call.arguments)?}));
            }
        }
        if results.is_empty() {
            println!("{}", answer.output_text().unwrap_or_default());
            return Ok(());
        }
        input.append(&mut results);
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let given: Vec<String> = std::env::args().collect();
    let [_, url, model, task] = given.as_slice() else {
        return Err("usage: async-openai BASE_URL MODEL TASK".into());
    };
    let client = Client::with_config(OpenAIConfig::new().with_api_base(url).with_api_key("none"));
    match task.as_str() {
        "chat stream" => chat_stream(&client, model).await,
        "chat tools" => chat_tools(&client, model).await,
        "responses stream" => responses_stream(&client, model).await,
        "responses tools" => responses_tools(&client, model).await,
        _ => Err(format!("no task {task:?}").into()),
    }
}
