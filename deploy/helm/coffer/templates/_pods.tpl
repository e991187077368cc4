{{/* What every pod has that opens the installation: that of the service, and that of a backup. */}}
{{- define "coffer.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
# At every start the default would open the data folder for the group, and the service refuses such a folder.
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "coffer.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "coffer.storageEnv" -}}
- name: CV_DATA_DIR
  value: /var/lib/coffer/data
{{- if .Values.database.existingSecret }}
- name: CV_DATABASE_URL_FILE
  value: /etc/coffer/database/url
{{- end }}
{{- if eq .Values.rootKey.kind "passphrase" }}
- name: CV_ROOT_KEY_PROVIDER
  value: passphrase
- name: CV_ROOT_PASSPHRASE_FILE
  value: /etc/coffer/root-key/passphrase
{{- else }}
- name: CV_ROOT_KEY_PROVIDER
  value: env
- name: CV_ROOT_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .Values.rootKey.existingSecret }}
      key: {{ .Values.rootKey.key }}
{{- end }}
{{- end }}

{{- define "coffer.storageMounts" -}}
- name: data
  mountPath: /var/lib/coffer
- name: tmp
  mountPath: /tmp
{{- if .Values.database.existingSecret }}
- name: database
  mountPath: /etc/coffer/database
  readOnly: true
{{- end }}
{{- if eq .Values.rootKey.kind "passphrase" }}
- name: root
  mountPath: /etc/coffer/root-key
  readOnly: true
{{- end }}
{{- end }}

{{- define "coffer.storageVolumes" -}}
- name: data
  {{- if .Values.database.existingSecret }}
  emptyDir: {}
  {{- else }}
  persistentVolumeClaim:
    claimName: {{ .Values.persistence.existingClaim | default (include "coffer.name" .) }}
  {{- end }}
- name: tmp
  emptyDir:
    sizeLimit: 256Mi
{{- if .Values.database.existingSecret }}
- name: database
  secret:
    secretName: {{ .Values.database.existingSecret }}
    defaultMode: 0440
    items: [{ key: {{ .Values.database.key | quote }}, path: url }]
{{- end }}
{{- if eq .Values.rootKey.kind "passphrase" }}
- name: root
  secret:
    secretName: {{ .Values.rootKey.existingSecret }}
    defaultMode: 0440
    items: [{ key: {{ .Values.rootKey.key | quote }}, path: passphrase }]
{{- end }}
{{- end }}
