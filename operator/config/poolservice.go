package config

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// The schemes of a [PoolService].
const (
	SchemeHTTP  = "http"
	SchemeHTTPS = "https"
)

// PoolService is a Service of Kubernetes, whose ready endpoints are servers of a pool.
type PoolService struct {
	// Name is the name of the Service. Empty: there is none.
	Name string `yaml:"name"`
	// Namespace is the namespace of the Service. Empty: the namespace of the control plane's pod.
	Namespace string `yaml:"namespace"`
	// Port is the name or the number of the servers' port, as the Service's EndpointSlices have it. Empty: their only
	// port.
	Port ServicePort `yaml:"port"`
	// Scheme is "http" or "https". Empty: the same as the pool's servers, or http.
	Scheme string `yaml:"scheme"`
}

// InferencePool is an InferencePool of Kubernetes, whose ready pods are servers of a pool. It says their ports itself.
type InferencePool struct {
	// Name is the name of the InferencePool. Empty: there is none.
	Name string `yaml:"name"`
	// Namespace is its namespace. Empty: the namespace of the control plane's pod.
	Namespace string `yaml:"namespace"`
}

// check returns the setting that is wrong, and why. tls reports whether the pool's other servers use https.
func (p *InferencePool) check(tls bool) (field, reason string) {
	switch {
	case *p == (InferencePool{}):
		return "", ""
	case p.Name == "":
		return ".name", "is empty; write the name of the InferencePool, or leave inference_pool out"
	case len(p.Name) > maxObjectName || !objectName.MatchString(p.Name):
		return ".name", fmt.Sprintf("%.64q is not the name of an InferencePool; write it without namespace", p.Name)
	case p.Namespace != "" && !label.MatchString(p.Namespace):
		return ".namespace", fmt.Sprintf("%q is not the name of a namespace", p.Namespace)
	case tls:
		return "", "has servers that use http, and the pool's other servers use https; give each a pool of its own"
	}
	return "", ""
}

// An object's name in Kubernetes is labels with dots between.
const maxObjectName = 253

var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// ServicePort is a port's name or its number.
type ServicePort string

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (p *ServicePort) UnmarshalYAML(node ast.Node) error {
	return setNode(node, func(text string) error {
		*p = ServicePort(text)
		return nil
	})
}

// Number returns the port's number, and whether it is one.
func (p ServicePort) Number() (uint16, bool) {
	n, err := strconv.ParseUint(string(p), 10, 16)
	return uint16(n), err == nil && n > 0
}

// FollowedSetting returns the setting of the pool whose servers only a program knows that follows Kubernetes, with its
// article, or "".
func (p *Pool) FollowedSetting() string {
	switch {
	case p.Service.Name != "":
		return "a service"
	case p.InferencePool.Name != "":
		return "an inference_pool"
	}
	return ""
}

// label is a name of Kubernetes for what DNS knows too.
var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// check returns the setting that is wrong, and why. tls reports whether the pool's listed servers use https; listed
// reports whether there are any.
func (s *PoolService) check(tls, listed bool) (field, reason string) {
	if *s == (PoolService{}) {
		return "", ""
	}
	_, isNumber := s.Port.Number()
	switch {
	case s.Name == "":
		return ".name", "is empty; write the name of the Service, or leave the service out"
	case !label.MatchString(s.Name):
		return ".name", fmt.Sprintf("%q is not the name of a Service; write it without namespace and domain", s.Name)
	case s.Namespace != "" && !label.MatchString(s.Namespace):
		return ".namespace", fmt.Sprintf("%q is not the name of a namespace", s.Namespace)
	case s.Port != "" && !isNumber && (!label.MatchString(string(s.Port)) || allDigits(string(s.Port))):
		return ".port", fmt.Sprintf("%q is not a port; write its name in the Service, or a number from 1 to 65535", s.Port)
	case listed && s.Scheme != "" && (s.Scheme == SchemeHTTPS) != tls:
		return ".scheme", s.Scheme + " mixes http and https in one pool; use one of them for all its servers"
	}
	return "", ""
}

func allDigits(text string) bool {
	_, err := strconv.ParseUint(text, 10, 64)
	return err == nil
}
