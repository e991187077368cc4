import { resolve } from 'node:path';
import type { ValuesOf } from '../../../settings/setting.ts';
import { settingGroup } from '../../../settings/setting-group.ts';
import { type Kind, parseBaseUrl, text, whole } from '../../../settings/setting-kind.ts';

/** Where ranges of the audit logs are archived, and how long entries stay in the database. */
export interface AuditArchiveConfig {
  readonly target: { readonly folder: string } | S3Config;
  readonly keepDays: number;
}

export interface S3Config {
  /** Without a slash at its end. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Empty, or with a slash at its end. */
  readonly prefix: string;
  readonly region: string;
  readonly accessKeyId: string;
  /** These are read again for each request, so that they can be replaced. */
  readonly secretKeyFile: string;
  readonly sessionTokenFile: string | null;
}

interface Written {
  folder: string | null;
  bucket: string;
  prefix: string;
}

const S3_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9._/-]{0,512}))?$/;

const archive: Kind<Written> = {
  expects: 'an existing folder, or s3://bucket/prefix',
  parse: (written) => {
    if (!/^\P{Cc}{1,1024}$/u.test(written)) return undefined;
    if (!/^[a-z0-9]+:\/\//i.test(written)) return { folder: written, bucket: '', prefix: '' };
    const [, bucket, path = ''] = S3_URL.exec(written) ?? [];
    const parts = path.split('/').filter((part) => part !== '');
    if (bucket === undefined || parts.some((part) => part === '.' || part === '..')) return undefined;
    return { folder: null, bucket, prefix: parts.map((part) => `${part}/`).join('') };
  },
};
const endpoint: Kind<string> = {
  expects: 'the origin of an S3-compatible service, such as https://minio.example.com:9000',
  parse: parseBaseUrl,
};
const region: Kind<string> = {
  expects: 'the name of a region, such as eu-central-1',
  parse: (written) => (/^[a-z0-9-]{1,64}$/.test(written) ? written : undefined),
};
const accessKeyId: Kind<string> = {
  expects: 'an access key id of 3 to 128 letters, digits and ._-',
  parse: (written) => (/^[A-Za-z0-9._-]{3,128}$/.test(written) ? written : undefined),
};

const SETTINGS = [
  {
    name: 'CV_AUDIT_ARCHIVE',
    kind: archive,
    default: null,
    fallback: 'none: all entries stay in the database',
    doc: 'Existing folder, or `s3://bucket/prefix`, to which ranges of the audit logs are archived, sealed and signed. They leave the database after `CV_AUDIT_KEEP_DAYS`.',
    secret: false,
  },
  {
    name: 'CV_AUDIT_KEEP_DAYS',
    kind: whole(1, 36_500),
    default: '90',
    doc: 'Days for which audit entries that were archived stay in the database.',
    secret: false,
  },
  {
    name: 'CV_AUDIT_S3_ENDPOINT',
    kind: endpoint,
    default: null,
    fallback: 'that of AWS in the region',
    doc: 'Origin of the S3-compatible service of `CV_AUDIT_ARCHIVE`. A private address must be in `CV_OUTBOUND_ALLOW`.',
    secret: false,
  },
  {
    name: 'CV_AUDIT_S3_REGION',
    kind: region,
    default: null,
    fallback: '`us-east-1`',
    doc: 'Region of the bucket of `CV_AUDIT_ARCHIVE`.',
    secret: false,
  },
  {
    name: 'CV_AUDIT_S3_ACCESS_KEY_ID',
    kind: accessKeyId,
    default: null,
    doc: 'Access key id for the bucket of `CV_AUDIT_ARCHIVE`, which requires it.',
    secret: false,
  },
  {
    name: 'CV_AUDIT_S3_SECRET_KEY_FILE',
    kind: text,
    default: null,
    doc: 'File with the secret access key for the bucket of `CV_AUDIT_ARCHIVE`, which requires it. It is read again for each request.',
    secret: false,
  },
  {
    name: 'CV_AUDIT_S3_SESSION_TOKEN_FILE',
    kind: text,
    default: null,
    doc: 'File with the session token of temporary credentials for the bucket, read again for each request.',
    secret: false,
  },
] as const;

type ArchiveValues = ValuesOf<typeof SETTINGS>;
type Name = keyof ArchiveValues;

const S3_NAMES = [
  'CV_AUDIT_S3_ENDPOINT',
  'CV_AUDIT_S3_REGION',
  'CV_AUDIT_S3_ACCESS_KEY_ID',
  'CV_AUDIT_S3_SECRET_KEY_FILE',
  'CV_AUDIT_S3_SESSION_TOKEN_FILE',
] as const satisfies readonly Name[];
const S3_NEEDED = ['CV_AUDIT_S3_ACCESS_KEY_ID', 'CV_AUDIT_S3_SECRET_KEY_FILE'] as const satisfies readonly Name[];

function conflicts(given: ReadonlySet<string>, { CV_AUDIT_ARCHIVE: written }: Partial<ArchiveValues>): string[] {
  if (given.has('CV_AUDIT_ARCHIVE') && written === undefined) return [];
  const isS3 = written !== undefined && written !== null && written.folder === null;
  if (isS3) {
    const missing = S3_NEEDED.filter((name) => !given.has(name));
    return missing.map((name) => `${name} must be set too, or name a folder in CV_AUDIT_ARCHIVE.`);
  }
  const idle: readonly Name[] = given.has('CV_AUDIT_ARCHIVE') ? S3_NAMES : ['CV_AUDIT_KEEP_DAYS', ...S3_NAMES];
  const wanted = given.has('CV_AUDIT_ARCHIVE') ? 'name an s3:// bucket in' : 'set';
  return idle
    .filter((name) => given.has(name))
    .map((name) => `${name} has no effect here: remove it, or ${wanted} CV_AUDIT_ARCHIVE.`);
}

function build(values: ArchiveValues): AuditArchiveConfig | null {
  const { CV_AUDIT_ARCHIVE: written, CV_AUDIT_KEEP_DAYS: keepDays } = values;
  if (written === null) return null;
  const { folder, bucket, prefix } = written;
  if (folder !== null) return Object.freeze({ target: Object.freeze({ folder: resolve(folder) }), keepDays });
  const { CV_AUDIT_S3_ACCESS_KEY_ID: keyId, CV_AUDIT_S3_SECRET_KEY_FILE: keyFile } = values;
  if (keyId === null || keyFile === null) return null;
  const regionName = values.CV_AUDIT_S3_REGION ?? 'us-east-1';
  const token = values.CV_AUDIT_S3_SESSION_TOKEN_FILE;
  const target = Object.freeze({
    endpoint: values.CV_AUDIT_S3_ENDPOINT ?? `https://s3.${regionName}.amazonaws.com`,
    bucket,
    prefix,
    region: regionName,
    accessKeyId: keyId,
    secretKeyFile: resolve(keyFile),
    sessionTokenFile: token === null ? null : resolve(token),
  });
  return Object.freeze({ target, keepDays });
}

/** The archive; null if nothing is archived. */
export const archiveSettings = settingGroup({ settings: SETTINGS, conflicts, build });
