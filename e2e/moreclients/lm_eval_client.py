"""lm-evaluation-harness, in front of a gateway. usage: lm_eval_client.py BASE_URL MODEL TASK"""

import json
import os
import sys
import tempfile

url, model, task = sys.argv[1:]
os.environ.update(OPENAI_API_KEY="none", HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1")

import lm_eval  # noqa: E402

folder = tempfile.mkdtemp()
with open(os.path.join(folder, "test.jsonl"), "w") as f:
    json.dump({"question": "What is an edge?", "answer": "An edge is a ledge."}, f)
results = lm_eval.simple_evaluate(
    model="local-chat-completions",
    model_args={"base_url": f"{url}/chat/completions", "model": model, "tokenized_requests": False},
    tasks=[
        {
            "task": "edge",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": os.path.join(folder, "test.jsonl")}},
            "test_split": "test",
            "output_type": "generate_until",
            "doc_to_text": "{{question}}",
            "doc_to_target": "{{answer}}",
            "generation_kwargs": {"until": ["\n\n"]},
            "metric_list": [{"metric": "exact_match"}],
        }
    ],
    apply_chat_template=True,
    log_samples=True,
)
print(results["samples"]["edge"][0]["resps"][0][0])
