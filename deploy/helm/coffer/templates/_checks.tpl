{{/* What the service would refuse, or what would lose data, is refused before anything is installed. */}}
{{- define "coffer.checks" -}}
{{- if not .Values.baseUrl }}{{ fail "baseUrl: set the URL under which clients reach the service, such as https://coffer.example.com." }}{{ end }}
{{- if not .Values.image.repository }}{{ fail "image.repository: set the image that was built from deploy/container/Containerfile." }}{{ end }}
{{- if not .Values.rootKey.existingSecret }}{{ fail "rootKey.existingSecret: name a Secret with the root passphrase. The chart makes none, so that no release holds it." }}{{ end }}
{{- if not .Values.database.existingSecret }}
{{- if gt (int .Values.replicas) 1 }}{{ fail "replicas: SQLite has one node. Set database.existingSecret to a Secret with the URL of PostgreSQL, or replicas to 1." }}{{ end }}
{{- if hasKey .Values.settings "CV_WORKERS" }}{{ fail "settings.CV_WORKERS: SQLite has one process. Set database.existingSecret to a Secret with the URL of PostgreSQL, or remove it." }}{{ end }}
{{- if and .Values.backup.existingClaim (eq .Values.persistence.accessMode "ReadWriteOncePod") }}{{ fail "backup.existingClaim: a backup of SQLite reads the volume beside the service. Set persistence.accessMode to ReadWriteOnce." }}{{ end }}
{{- end }}
{{- if and (eq .Values.strategy "RollingUpdate") (not .Values.database.existingSecret) }}{{ fail "strategy: two processes cannot use one folder. Leave it empty with SQLite." }}{{ end }}
{{- if and .Values.terminationGracePeriodSeconds (lt (int .Values.terminationGracePeriodSeconds) (int (add .Values.drainSeconds 30))) }}{{ fail (printf "terminationGracePeriodSeconds: requests under way would be cut off. Set it to 0, or to %d or more: drainSeconds and 30." (add .Values.drainSeconds 30)) }}{{ end }}
{{- if and .Values.serviceMonitor.enabled (not .Values.serviceMonitor.tokenSecret) }}{{ fail "serviceMonitor.tokenSecret: name a Secret with the token of CV_METRICS_TOKEN." }}{{ end }}
{{- $own := list "CV_HOST" "CV_PORT" "CV_TLS_PORT" "CV_DATA_DIR" "CV_BASE_URL" "CV_HOSTS" "CV_AUDIENCE" "CV_DRAIN_SECONDS" "CV_DATABASE_URL_FILE" "CV_ROOT_KEY_PROVIDER" "CV_ROOT_KEY_FILE" "CV_ROOT_PASSPHRASE_FILE" "CV_TLS_CERT_FILE" "CV_TLS_KEY_FILE" "CV_CHECKPOINT_DIR" }}
{{- $secret := list "CV_DATABASE_URL" "CV_ROOT_KEY" "CV_ROOT_PASSPHRASE" "CV_NEW_ROOT_KEY" "CV_NEW_ROOT_PASSPHRASE" "CV_SMTP_URL" "CV_STRIPE_WEBHOOK_SECRET" "CV_STRIPE_API_KEY" "CV_METRICS_TOKEN" }}
{{- range $name := keys .Values.settings }}
{{- if has $name $own }}{{ fail (printf "settings.%s: the chart sets it from another value." $name) }}{{ end }}
{{- if has $name $secret }}{{ fail (printf "settings.%s: it is a secret. Put it into a Secret, and name that in secretSettings, database or rootKey." $name) }}{{ end }}
{{- end }}
{{- range .Values.secretSettings }}
{{- if or (has .name $own) (has .name (list "CV_DATABASE_URL" "CV_ROOT_KEY" "CV_ROOT_PASSPHRASE")) }}{{ fail (printf "secretSettings: the chart sets %s from another value." .name) }}{{ end }}
{{- end }}
{{- end }}
