// Package inferencepools reports which endpoints of an InferencePool of the Gateway API Inference Extension are ready:
// its ready pods, at each of its ports.
//
// It knows InferencePools and pods. It does not know endpoint pickers, pools of the gateway, or the operator's YAML.
package inferencepools
