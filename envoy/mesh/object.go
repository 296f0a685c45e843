package mesh

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Object is a Kubernetes object as it is applied.
type Object struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   Metadata `yaml:"metadata"`
	Spec       any      `yaml:"spec"`
}

// Metadata is the metadata of an [Object].
type Metadata struct {
	Name      string            `yaml:"name"`
	Namespace string            `yaml:"namespace,omitempty"`
	Labels    map[string]string `yaml:"labels"`
}

// The labels of all objects. With them the objects of one gateway are found and deleted together.
const (
	partOf   = "app.kubernetes.io/part-of"
	instance = "app.kubernetes.io/instance"
	program  = "harmony-edge"
)

// Selector returns the selector of all objects of a gateway, for kubectl.
func Selector(gateway string) string { return partOf + "=" + program + "," + instance + "=" + gateway }

// NewObject returns an object of a gateway. An object without a namespace is one of the whole cluster.
func NewObject(apiVersion, kind, namespace, gateway, name string, spec any) Object {
	return Object{APIVersion: apiVersion, Kind: kind, Spec: spec, Metadata: Metadata{
		Name: name, Namespace: namespace, Labels: map[string]string{partOf: program, instance: gateway}}}
}

// Write writes objects as YAML documents, after a comment. Equal objects give equal bytes.
func Write(w io.Writer, comment string, objects []Object) error {
	var out bytes.Buffer
	for line := range strings.Lines(comment) {
		out.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	for i := range objects {
		text, err := Marshal(objects[i])
		if err != nil {
			return fmt.Errorf("mesh: %s %s: %w", objects[i].Kind, objects[i].Metadata.Name, err)
		}
		if i > 0 { // the comment is no document of its own, which not every reader takes
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// Value returns a message of Envoy's API in the form in which objects contain it, with the message's own field names
// and in their order.
func Value(m proto.Message) (yaml.MapSlice, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("mesh: %w", err)
	}
	return JSONValue(text)
}

// JSONValue returns a JSON object with its members in order.
func JSONValue(text []byte) (yaml.MapSlice, error) {
	var value yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(text, &value, yaml.UseOrderedMap()); err != nil { // JSON is YAML
		return nil, fmt.Errorf("mesh: %w", err)
	}
	return value, nil
}

// maxName is how long a label of DNS, and so a name of most objects, may be.
const maxName = 63

// Name returns a name for an object: prefix, and a text that need not be a name in Kubernetes, such as a model's. Other
// texts have other names.
func Name(prefix, text string) string {
	name := prefix + "-" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, text)
	if name == prefix+"-"+text && len(name) <= maxName && !strings.HasSuffix(name, "-") {
		return name
	}
	const digits = 8
	sum := sha256.Sum256([]byte(text))
	name = name[:min(len(name), maxName-1-digits)]
	return strings.TrimRight(name, "-") + "-" + hex.EncodeToString(sum[:])[:digits]
}
