#!/usr/bin/env bash
# Asks a gateway for channel events (docs/channel-events.md) and shows them: the reasoning dim, the answer plain, calls and the
# end on lines of their own. It needs curl and jq, and a gateway, such as the one of the README:
#
#	dist/harmony sim --tokens-per-second 40 --quiet >/dev/null &
#	dist/harmony up --model gpt-oss-120b --backend vllm=http://127.0.0.1:8000 >/dev/null &
#	examples/channel-events.sh "What is the weather in Paris?"
#
# GATEWAY and MODEL name others.
set -euo pipefail

GATEWAY="${GATEWAY:-http://127.0.0.1:8080}"
MODEL="${MODEL:-gpt-oss-120b}"
question="${1:-What is the weather in Paris?}"

request="$(jq -n --arg model "$MODEL" --arg question "$question" '{
  model: $model, stream: true, messages: [{role: "user", content: $question}],
  tools: [{type: "function", function: {
    name: "get_weather", description: "Current weather", parameters: {
      type: "object", properties: {city: {type: "string"}}, required: ["city"]}}}]}')"

# A failure before the first event is a status and a JSON object, which --fail-with-body prints.
curl --silent --show-error --no-buffer --fail-with-body "$GATEWAY/v1/chat/completions" \
  --header 'content-type: application/json' --header 'x-harmony-events: channels' --data "$request" |
  while IFS= read -r line || [[ -n "$line" ]]; do
    case "$line" in
      "event: "*) event="${line#event: }" ;;
      "data: "*)
        data="${line#data: }"
        case "$event" in
          analysis) printf '\033[2m%s\033[0m' "$(jq -j '.text + "."' <<<"$data" | sed 's/\.$//')" ;;
          commentary | token) printf '%s' "$(jq -j '.text + "."' <<<"$data" | sed 's/\.$//')" ;;
          *) printf '\n%s\n' "$event: $(jq -c 'if .conversation then .conversation |= (.messages | length | tostring + " messages") else . end' <<<"$data")" ;;
        esac
        ;;
      "") ;;
      *) printf '%s\n' "$line" ;;
    esac
  done
