{{- define "coffer.name" -}}
{{- if contains "coffer" .Release.Name }}{{ .Release.Name | trunc 53 | trimSuffix "-" }}{{ else }}{{ printf "%s-coffer" .Release.Name | trunc 53 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "coffer.selector" -}}
app.kubernetes.io/name: coffer
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "coffer.labels" -}}
{{ include "coffer.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "coffer.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "coffer.graceSeconds" -}}
{{- .Values.terminationGracePeriodSeconds | default (add .Values.drainSeconds 35) | int64 }}
{{- end }}
