#!/usr/bin/env bash
# LlamaIndex for TypeScript and a streamed answer of the Responses API.
#
# Software: @llamaindex/openai 0.4.23, llamaindex 0.12.1 (npm), Node.js 20 or newer. The server sends the events of one
# message in OpenAI's order, with the three deltas "One", " two", " three.".
# A good guess: the parts of the stream add up to "One two three.".
# Seen: "One two three. three. three. three. three.". Each event after the last delta (output_text.done,
# content_part.done, output_item.done, completed) brings the last delta once more. The server need not be special.
# Consequence: an application that joins the parts shows the end of each answer five times; the gateway cannot help it.
set -euo pipefail

dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private":true,"type":"module"}' >package.json
npm install --silent --no-audit --no-fund @llamaindex/openai@0.4.23 llamaindex@0.12.1
cat >try.mjs <<'JS'
import http from 'node:http'
import {openaiResponses} from "@llamaindex/openai"

const text = ['One', ' two', ' three.']
const server = http.createServer((req, res) => {
  req.resume().on('end', () => {
    res.writeHead(200, {'content-type': 'text/event-stream'})
    let n = 0
    const send = (type, rest) => res.write(`event: ${type}\ndata: ${JSON.stringify({type, sequence_number: n++, ...rest})}\n\n`)
    const response = (status, output) => ({response: {id: 'resp_1', object: 'response', created_at: 1, model: 'm', status, output}})
    const item = {id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [{type: 'output_text', text: text.join(''), annotations: [], logprobs: []}]}
    const at = {item_id: 'msg_1', output_index: 0, content_index: 0}
    send('response.created', response('in_progress', []))
    send('response.in_progress', response('in_progress', []))
    send('response.output_item.added', {output_index: 0, item: {...item, status: 'in_progress', content: []}})
    send('response.content_part.added', {...at, part: {type: 'output_text', text: '', annotations: [], logprobs: []}})
    for (const delta of text) send('response.output_text.delta', {...at, delta, logprobs: []})
    send('response.output_text.done', {...at, text: text.join(''), logprobs: []})
    send('response.content_part.done', {...at, part: item.content[0]})
    send('response.output_item.done', {output_index: 0, item})
    send('response.completed', response('completed', [item]))
    res.end()
  })
})
server.listen(0, '127.0.0.1', async () => {
  const llm = openaiResponses({model: 'gpt-4o', apiKey: 'k', baseURL: `http://127.0.0.1:${server.address().port}/v1`})
  let seen = ''
  for await (const part of await llm.chat({stream: true, messages: [{role: 'user', content: 'Count.'}]})) seen += part.delta
  console.log(JSON.stringify(seen))
  server.close(); process.exit(0)
})
JS
seen="$(node try.mjs)"
echo "$seen"
[[ "$seen" == '"One two three. three. three. three. three."' ]] || { echo "This has changed."; exit 1; }
