package server

// Usage is the number of tokens of an answer, in vLLM's order.
type Usage struct {
	PromptTokens     int           `json:"prompt_tokens"`
	TotalTokens      int           `json:"total_tokens"`
	CompletionTokens int           `json:"completion_tokens"`
	Details          *UsageDetails `json:"prompt_tokens_details,omitempty"`
}

// UsageDetails are a member of [Usage].
type UsageDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// Usage returns vLLM's usage of an answer of n tokens.
func (j *Job) Usage(n int) *Usage {
	return &Usage{PromptTokens: len(j.Asked.IDs), TotalTokens: len(j.Asked.IDs) + n, CompletionTokens: n}
}

// AllUsage returns vLLM's usage at the end of a stream.
func (j *Job) AllUsage() *Usage {
	u := j.Usage(j.Asked.Choices() * len(j.Answer.IDs))
	u.Details = j.Details()
	return u
}

// Details returns the tokens in the cache, if the server reports them.
func (j *Job) Details() *UsageDetails {
	if !j.Server.Options.PromptTokensDetails {
		return nil
	}
	return &UsageDetails{CachedTokens: j.Cached}
}
