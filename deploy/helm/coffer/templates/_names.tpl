{{- define "coffer.name" -}}
{{- if contains "coffer" .Release.Name }}{{ .Release.Name | trunc 53 | trimSuffix "-" }}{{ else }}{{ printf "%s-coffer" .Release.Name | trunc 53 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "coffer.selector" -}}
app.kubernetes.io/name: coffer
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "coffer.backupSelector" -}}
app.kubernetes.io/name: coffer-backup
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

{{- define "coffer.schema" -}}
{{ .Files.Get "files/schema.yaml" }}
{{- end }}

{{/*
With SQLite two processes cannot use one folder. With PostgreSQL pods are replaced one after the other, unless the pods that are there know a schema
that this release ends: it does not start beside them, so they are stopped first. Where Helm cannot look them up, values say it.
*/}}
{{- define "coffer.strategy" -}}
{{- $there := lookup "apps/v1" "Deployment" .Release.Namespace (include "coffer.name" .) }}
{{- $known := dig "metadata" "annotations" "coffer/schema" "0" ($there | default dict) | int }}
{{- $oldest := (include "coffer.schema" . | fromYaml).oldest | int }}
{{- if .Values.strategy }}{{ .Values.strategy }}
{{- else if not .Values.database.existingSecret }}Recreate
{{- else if and $there (lt $known $oldest) }}Recreate
{{- else }}RollingUpdate
{{- end }}
{{- end }}
