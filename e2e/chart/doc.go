// Package chart has the tests of the Helm chart, and of the objects for meshes as Kubernetes would take them: make
// chart.
//
// They know Helm, the schemas of Kubernetes and of others' resources, and what the rendered containers run. There is no
// cluster: nothing is scheduled, pulled or routed.
package chart
