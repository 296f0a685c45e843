package openai

import "strconv"

// maxBiases is the maximum number of tokens that a request can bias.
const maxBiases = 1024

// readLogitBias reads biases by token id.
func (s *Sampling) readLogitBias(param string, v value) *Error {
	s.LogitBias = nil
	if !v.given() {
		return nil
	}
	return v.members(param, func(key []byte, v value) *Error {
		at := join(param, clip(string(key)))
		id, err := strconv.ParseUint(string(key), 10, 32)
		if err != nil {
			return Invalid(at, "Invalid key in '"+param+"': '"+clip(string(key))+"'. Expected the id of a token.")
		}
		if !v.given() {
			return wrongType(at, "a number", v)
		}
		bias := Bias{Token: uint32(id)}
		if err := v.number(at, -100, 100, &bias.Value); err != nil {
			return err
		}
		if len(s.LogitBias) >= maxBiases {
			return Invalid(param, "Invalid '"+param+"': too many tokens. Expected at most "+strconv.Itoa(maxBiases)+".")
		}
		s.LogitBias = append(s.LogitBias, bias)
		return nil
	})
}
