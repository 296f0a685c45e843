{{- /* The operator's configuration, with an address to listen on, and the addresses of the responses service. */ -}}
{{- define "harmony.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if not (or $config.listen $config.listeners) -}}
{{- $_ := set $config "listen" "0.0.0.0:8080" -}}
{{- end -}}
{{- if .Values.responses.enabled -}}
{{- $domain := printf "%s.svc.%s" .Release.Namespace .Values.clusterDomain -}}
{{- $service := $config.responses_service | default dict -}}
{{- $_ := set $service "url" (printf "http://%s.%s:8090" (include "harmony.responses" .) $domain) -}}
{{- $_ := set $service "listen" "0.0.0.0:8090" -}}
{{- if not $service.gateway -}}
{{- $_ := set $service "gateway" (printf "http://%s.%s:%d" (include "harmony.envoy" .) $domain (int .Values.envoy.service.port)) -}}
{{- end -}}
{{- $_ := set $config "responses_service" $service -}}
{{- end -}}
{{ toYaml $config }}
{{- end -}}

{{- /* The listeners of the configuration as a JSON list of {name, port, tls, address, first}. The first one without TLS
is named http, the first one with TLS https. */ -}}
{{- define "harmony.listeners" -}}
{{- $config := include "harmony.config" . | fromYaml -}}
{{- $listeners := $config.listeners | default (list (dict "address" $config.listen)) -}}
{{- $all := list -}}
{{- $seen := dict -}}
{{- range $i, $listener := $listeners -}}
{{- $kind := ternary "https" "http" (not (empty $listener.tls)) -}}
{{- $first := not (hasKey $seen $kind) -}}
{{- $_ := set $seen $kind true -}}
{{- $name := ternary $kind (printf "listener-%d" $i) $first -}}
{{- $port := regexFind "[0-9]+$" (toString $listener.address) | default "0" | int -}}
{{- $all = append $all (dict "name" $name "port" $port "tls" (eq $kind "https") "address" $listener.address "first" $first) -}}
{{- end -}}
{{ toJson $all }}
{{- end -}}

{{- /* Fails with what to do if the values cannot work together. */ -}}
{{- define "harmony.check" -}}
{{- $config := include "harmony.config" . | fromYaml -}}
{{- if not $config.models -}}
{{- fail "config.models is empty: name your models and their servers under config, as in docs/helm.md" -}}
{{- end -}}
{{- $ports := dict -}}
{{- range include "harmony.listeners" . | fromJsonArray -}}
{{- $port := int .port -}}
{{- if hasPrefix "/" (toString .address) | or (eq $port 0) -}}
{{- fail (printf "config listens on %q, which a Service cannot lead to: write an address with a port, such as 0.0.0.0:8080" (toString .address)) -}}
{{- end -}}
{{- if regexMatch "^(127\\.|localhost:|\\[::1\\])" (toString .address) -}}
{{- fail (printf "config listens on %s, which no other pod reaches: write 0.0.0.0:%d" .address $port) -}}
{{- end -}}
{{- if lt $port 1024 -}}
{{- fail (printf "config listens on port %d, and Envoy has no right to ports below 1024 here: write 0.0.0.0:8080; the Service has port %d (envoy.service.port)" $port (int $.Values.envoy.service.port)) -}}
{{- end -}}
{{- if or (eq $port 9901) (eq $port 9902) (hasKey $ports (toString $port)) -}}
{{- fail (printf "config listens on port %d, which is taken: 9901 is Envoy's admin interface, 9902 has its metrics, and each listener needs a port of its own" $port) -}}
{{- end -}}
{{- $_ := set $ports (toString $port) true -}}
{{- end -}}
{{- include "harmony.checkResponses" . -}}
{{- include "harmony.checkTools" . -}}
{{- include "harmony.checkSecrets" (dict "root" . "config" $config) -}}
{{- include "harmony.checkTLS" . -}}
{{- end -}}

{{- define "harmony.checkResponses" -}}
{{- $given := .Values.config.responses_service | default dict -}}
{{- if and .Values.responses.enabled (not (regexMatch "^postgres(ql)?://" (toString $given.store))) -}}
{{- fail "responses.enabled needs config.responses_service.store: write postgres://HOST/DATABASE, and the user and the password as PGUSER and PGPASSWORD in responses.env or responses.envFrom" -}}
{{- end -}}
{{- if and .Values.responses.enabled (or $given.url $given.listen) -}}
{{- fail "responses.enabled sets url and listen of config.responses_service: leave them out" -}}
{{- end -}}
{{- if and (not .Values.responses.enabled) $given.store (not $given.url) -}}
{{- fail "config.responses_service has a store, and no program that runs it: set responses.enabled" -}}
{{- end -}}
{{- $plain := false -}}
{{- range include "harmony.listeners" . | fromJsonArray -}}{{- if eq .name "http" -}}{{- $plain = true -}}{{- end -}}{{- end -}}
{{- if and .Values.responses.enabled (not $plain) (not $given.gateway) -}}
{{- fail "the responses service asks the models at a listener without TLS, and config has none: add one, or set config.responses_service.gateway" -}}
{{- end -}}
{{- end -}}

{{- /* Fails if a server of tools has a file of headers that is in no mount of the responses service. */ -}}
{{- define "harmony.checkTools" -}}
{{- $v := .Values.responses -}}
{{- $tools := (.Values.config.responses_service | default dict).tools | default dict -}}
{{- range ternary $tools.servers (list) $v.enabled -}}
{{- $file := toString (.headers_file | default "") -}}
{{- $found := or (not $file) (and (not (hasPrefix "/" $file)) (hasKey $.Values.configFiles $file)) -}}
{{- range concat $v.secretMounts $v.extraVolumeMounts -}}
{{- if hasPrefix (printf "%s/" (trimSuffix "/" (.path | default .mountPath | toString))) (printf "%s/" $file) -}}{{- $found = true -}}{{- end -}}
{{- end -}}
{{- if not $found -}}
{{- fail (printf "config.responses_service.tools.servers: %s is in no mount of the responses service: add {secret: SECRET, path: %s} to responses.secretMounts" $file (dir $file)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "harmony.checkSecrets" -}}
{{- $values := .root.Values -}}
{{- if and .config.secrets (not $values.tls.enabled) (not $values.controlPlane.secretsWithoutClientCertificates) -}}
{{- fail "config.secrets go to Envoys, and without client certificates to anyone who reaches the control plane: set tls.enabled with tls.controlPlaneSecret and tls.envoySecret, or with tls.certManager; or, where a mesh encrypts and admits Envoys only, controlPlane.secretsWithoutClientCertificates" -}}
{{- end -}}
{{- $given := dict -}}
{{- range $values.controlPlane.env -}}{{- $_ := set $given .name true -}}{{- end -}}
{{- if not $values.controlPlane.envFrom -}}
{{- range .config.secrets -}}
{{- if and .env (not (hasKey $given .env)) -}}
{{- fail (printf "config.secrets: %s is in the variable %s, which the control plane does not have: add {name: %s, valueFrom: {secretKeyRef: {name: SECRET, key: KEY}}} to controlPlane.env" .name .env .env) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "harmony.checkTLS" -}}
{{- $tls := .Values.tls -}}
{{- $secrets := or $tls.controlPlaneSecret $tls.envoySecret -}}
{{- if and (not $tls.enabled) (or $secrets $tls.certManager.enabled) -}}
{{- fail "tls has certificates, and is off: set tls.enabled" -}}
{{- end -}}
{{- if and $tls.enabled $tls.certManager.enabled $secrets -}}
{{- fail "tls.certManager makes the Secrets: leave out tls.controlPlaneSecret and tls.envoySecret, or tls.certManager" -}}
{{- end -}}
{{- if and $tls.enabled $tls.certManager.enabled (not $tls.certManager.issuerRef.name) -}}
{{- fail "tls.certManager has no issuer: set tls.certManager.issuerRef.name, and kind" -}}
{{- end -}}
{{- if and $tls.enabled (not $tls.certManager.enabled) (not (and $tls.controlPlaneSecret $tls.envoySecret)) -}}
{{- fail "tls.enabled needs certificates for both sides: set tls.controlPlaneSecret and tls.envoySecret, or tls.certManager.enabled" -}}
{{- end -}}
{{- end -}}
