// Package mesh has what the writers for all meshes share: Kubernetes objects as YAML, and an Envoy's resources in the
// parts that a mesh is given one by one.
//
// It knows Envoy's API and YAML. It does not know any mesh's objects: packages istio and envoygateway do.
package mesh
