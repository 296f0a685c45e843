#!/usr/bin/env bash
# Qwen Code, in front of a gateway. usage: qwen.sh NODE QWEN BASE_URL MODEL TASK
set -euo pipefail
export OPENAI_BASE_URL="$3" OPENAI_API_KEY=none OPENAI_MODEL="$4"
question="What is an edge?"
[[ "$5" == "chat stream" ]] || question="Print the file list.txt."
exec "$1" "$2" --auth-type openai --approval-mode yolo -p "$question" 2>/dev/null
