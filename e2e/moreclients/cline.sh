#!/usr/bin/env bash
# Cline, in front of a gateway. usage: cline.sh CLINE BASE_URL MODEL TASK
set -euo pipefail
"$1" auth --provider openai --apikey none --modelid "$3" --baseurl "$2" >/dev/null
question="What is an edge?"
[[ "$4" == "chat stream" ]] || question="Show the file list.txt."
# Without a hub: it is a process that outlives the run.
CLINE_SESSION_BACKEND_MODE=local exec "$1" "$question" </dev/null 2>/dev/null
