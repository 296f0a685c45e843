// Package nemogym holds the gateway against NeMo Gym's VLLMModel: recorded exchanges of the one are asked of the other,
// each difference has a reason, and each key of its configuration has one of ours.
//
// It does not know how the gateway translates.
package nemogym
