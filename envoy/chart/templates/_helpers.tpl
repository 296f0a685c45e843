{{- define "harmony.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" }}
{{- end -}}

{{- define "harmony.fullname" -}}
{{- $name := include "harmony.name" . -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "harmony.controlPlane" -}}{{ include "harmony.fullname" . }}-controlplane{{- end -}}

{{- define "harmony.envoy" -}}{{ include "harmony.fullname" . }}-envoy{{- end -}}

{{- define "harmony.responses" -}}{{ include "harmony.fullname" . }}-responses{{- end -}}

{{- /* The name by which Envoys reach the control plane, which its certificate must have. */ -}}
{{- define "harmony.controlPlaneHost" -}}
{{ include "harmony.controlPlane" . }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end -}}

{{- /* metadata of an object: (dict "root" $ "name" NAME "component" COMPONENT "annotations" MAP "labels" MAP) */ -}}
{{- define "harmony.metadata" -}}
metadata:
  name: {{ .name }}
  namespace: {{ .namespace | default .root.Release.Namespace }}
  labels:
    {{- include "harmony.labels" . | nindent 4 }}
    {{- with .labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "harmony.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | trimSuffix "." }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | replace "+" "_" | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{ include "harmony.ownLabels" . }}
{{- end -}}

{{- /* The labels that stay the same in the next version. Pods have no others, or they would be replaced for a label. */ -}}
{{- define "harmony.ownLabels" -}}
app.kubernetes.io/part-of: harmony-edge
{{ include "harmony.selector" . }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "harmony.selector" -}}
app.kubernetes.io/name: {{ include "harmony.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- /* An image: (dict "image" IMAGE "tag" DEFAULT) */ -}}
{{- define "harmony.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .tag }}
{{- end -}}
{{- end -}}

{{- define "harmony.controlPlaneImage" -}}
{{ include "harmony.image" (dict "image" .Values.controlPlane.image "tag" .Chart.AppVersion) }}
{{- end -}}

{{- /* A ServiceAccount's name: (dict "account" VALUES "name" DEFAULT) */ -}}
{{- define "harmony.serviceAccount" -}}
{{- if .account.create -}}{{ .account.name | default .name }}{{- else -}}{{ .account.name | default "default" }}{{- end -}}
{{- end -}}

{{- define "harmony.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "harmony.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{- /* What both kinds of pods may have: (dict "values" VALUES) */ -}}
{{- define "harmony.scheduling" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "harmony.tlsSecret" -}}
{{- if .root.Values.tls.certManager.enabled -}}{{ .name }}-tls{{- else -}}{{ .secret }}{{- end -}}
{{- end -}}
