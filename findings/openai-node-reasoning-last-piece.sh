#!/usr/bin/env bash
# openai-node's helper for Chat streams and a member that OpenAI's API does not have: `reasoning`.
#
# Software: openai 7.59.0 (npm), Node.js 20 or newer. The server streams `content` in three pieces and
# `reasoning`, as vLLM
# calls it, in three pieces.
# A good guess: chat.completions.stream() joins the pieces of every text, as openai-python's helper does; or it drops
# members that it does not know.
# Seen: the final message has the whole content, and of `reasoning` the last piece only.
# Consequence: a program that shows or sends back `message.reasoning` has the end of a sentence. It must join the chunks
# itself.
set -euo pipefail

dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private":true,"type":"module"}' >package.json
npm install --silent --no-audit --no-fund openai@7.59.0
cat >try.mjs <<'JS'
import http from 'node:http'
import OpenAI from 'openai'

const server = http.createServer((req, res) => {
  req.resume().on('end', () => {
    res.writeHead(200, {'content-type': 'text/event-stream'})
    const send = (delta, finish_reason = null) => res.write(`data: ${JSON.stringify({id: 'c',
      object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{index: 0, delta, finish_reason}]})}\n\n`)
    send({role: 'assistant', content: ''})
    for (const reasoning of ['The user', ' wants', ' a number.']) send({reasoning})
    for (const content of ['It', ' is', ' 7.']) send({content})
    send({}, 'stop')
    res.end('data: [DONE]\n\n')
  })
})
server.listen(0, '127.0.0.1', async () => {
  const client = new OpenAI({apiKey: 'k', baseURL: `http://127.0.0.1:${server.address().port}/v1`})
  const stream = client.chat.completions.stream({model: 'm', messages: [{role: 'user', content: 'Hi'}]})
  const message = (await stream.finalChatCompletion()).choices[0].message
  console.log(JSON.stringify([message.content, message.reasoning]))
  server.close(); process.exit(0)
})
JS
seen="$(node try.mjs)"
echo "$seen"
[[ "$seen" == '["It is 7."," a number."]' ]] || { echo "This has changed."; exit 1; }
