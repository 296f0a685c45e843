package inferencepools

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	poolVersion = schema.GroupVersion{Group: "inference.networking.k8s.io", Version: "v1"}
	podVersion  = schema.GroupVersion{Version: "v1"}
)

// inferencePool has the fields that count of an InferencePool.
type inferencePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              poolSpec `json:"spec"`
}

type poolSpec struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	TargetPorts []struct {
		Number int32 `json:"number"`
	} `json:"targetPorts"`
	AppProtocol string `json:"appProtocol"`
}

type inferencePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []inferencePool `json:"items"`
}

// pod has the fields that count of a Pod.
type pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            podStatus `json:"status"`
}

type podStatus struct {
	PodIP      string         `json:"podIP"`
	Conditions []podCondition `json:"conditions"`
}

type podCondition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

type podList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []pod `json:"items"`
}

// The methods make the types objects of client-go. What is read is not changed, so a copy may share it.

// DeepCopyObject implements [runtime.Object].
func (p *inferencePool) DeepCopyObject() runtime.Object { c := *p; return &c }

// DeepCopyObject implements [runtime.Object].
func (l *inferencePoolList) DeepCopyObject() runtime.Object { c := *l; return &c }

// DeepCopyObject implements [runtime.Object].
func (p *pod) DeepCopyObject() runtime.Object { c := *p; return &c }

// DeepCopyObject implements [runtime.Object].
func (l *podList) DeepCopyObject() runtime.Object { c := *l; return &c }

func poolTypes(s *runtime.Scheme) error {
	s.AddKnownTypeWithName(poolVersion.WithKind("InferencePool"), &inferencePool{})
	s.AddKnownTypeWithName(poolVersion.WithKind("InferencePoolList"), &inferencePoolList{})
	return nil
}

func podTypes(s *runtime.Scheme) error {
	s.AddKnownTypeWithName(podVersion.WithKind("Pod"), &pod{})
	s.AddKnownTypeWithName(podVersion.WithKind("PodList"), &podList{})
	return nil
}
