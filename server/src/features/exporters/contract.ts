import Type from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described } from '../../kernel/wire/named-schemas.ts';
import {
  Deleted,
  idParam,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  pageQuery,
  resourceName,
  timeInput,
} from '../../kernel/wire/wire.ts';
import { AuditFilterSchema } from '../audit/index.ts';
import { caPem, credentials, Exporter, enabled, endpointText, format, type } from './schemas.ts';

const common = {
  ...ORDINARY,
  noun: 'exporters',
  aboutNoun: {
    title: 'Exporters',
    group: 'People',
    guide: ['exporters', 'audit'],
    description: 'Send the audit log to a SIEM: Splunk, Elastic, Datadog, syslog, OpenTelemetry or any HTTP receiver.',
  },
  credentials: ANY_TOKEN,
  resource: 'exporter/{exporter_id}',
  query: NONE,
  body: NONE,
  params: NONE,
} as const;

const ofOne = { params: object({ exporter_id: described('The id of an exporter.', idParam) }) } as const;
const APPROVED = 'Needs the approval of another admin (`siem_change`).';

const SPLUNK = {
  name: 'splunk',
  type: 'splunk_hec',
  endpoint: 'https://splunk.example.com:8088',
  credentials: { token: 'b7f1c2d0-5a3e-4c8f-9e21-0d6a4b7c8e9f' },
} as const;

export const createExporter = endpoint({
  ...common,
  name: 'createExporter',
  tier: 'professional',
  method: 'POST',
  path: '/v1/audit/exporters',
  summary: 'Send the audit log to a SIEM',
  description: `Begins with the next entry; \`replay\` sends earlier ones. ${APPROVED}`,
  permission: 'exporters:create',
  resource: 'exporter/*',
  rate: 'write',
  approval: 'siem_change',
  audit: 'exporters:create',
  effect: 'change',
  body: objectWithExamples([SPLUNK], {
    name: resourceName,
    type,
    endpoint: endpointText,
    format: Type.Optional(described('Default: native.', format)),
    filter: Type.Optional(described('Default: every entry.', AuditFilterSchema)),
    credentials: Type.Optional(credentials),
    ca_pem: Type.Optional(nullable(caPem)),
    enabled: Type.Optional(enabled),
  }),
  status: 201,
  output: Exporter,
  errors: ['QUOTA_EXCEEDED', 'ALREADY_EXISTS'],
});

export const listExporters = endpoint({
  ...common,
  name: 'listExporters',
  method: 'GET',
  path: '/v1/audit/exporters',
  summary: 'List exporters',
  description: 'With the state of each.',
  permission: 'exporters:list',
  resource: 'exporter/*',
  rate: 'read',
  audit: 'exporters:list',
  effect: 'read',
  query: object({ ...pageQuery }),
  status: 200,
  output: object({ exporters: Type.Array(Exporter), next_cursor: nextCursor }),
  errors: [],
});

export const readExporter = endpoint({
  ...common,
  ...ofOne,
  name: 'readExporter',
  method: 'GET',
  path: '/v1/audit/exporters/{exporter_id}',
  summary: 'Read an exporter',
  description: 'With its state and what its receiver did not take.',
  permission: 'exporters:read',
  rate: 'read',
  audit: 'exporters:read',
  effect: 'read',
  status: 200,
  output: Exporter,
  errors: ['NOT_FOUND'],
});

export const updateExporter = endpoint({
  ...common,
  ...ofOne,
  name: 'updateExporter',
  tier: 'professional',
  method: 'PATCH',
  path: '/v1/audit/exporters/{exporter_id}',
  summary: 'Change an exporter',
  description: `A new endpoint needs the credentials again, so that they are not sent elsewhere. ${APPROVED}`,
  permission: 'exporters:update',
  rate: 'write',
  approval: 'siem_change',
  audit: 'exporters:update',
  effect: 'change',
  body: object({
    name: Type.Optional(resourceName),
    endpoint: Type.Optional(endpointText),
    format: Type.Optional(format),
    filter: Type.Optional(AuditFilterSchema),
    credentials: Type.Optional(credentials),
    ca_pem: Type.Optional(nullable(caPem)),
    enabled: Type.Optional(enabled),
  }),
  status: 200,
  output: Exporter,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'VERSION_CONFLICT'],
});

export const deleteExporter = endpoint({
  ...common,
  ...ofOne,
  name: 'deleteExporter',
  method: 'DELETE',
  path: '/v1/audit/exporters/{exporter_id}',
  summary: 'Delete an exporter',
  description: `Entries that it has not sent stay in the log. ${APPROVED}`,
  permission: 'exporters:delete',
  rate: 'write',
  approval: 'siem_change',
  audit: 'exporters:delete',
  effect: 'change',
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

export const testExporter = endpoint({
  ...common,
  ...ofOne,
  name: 'testExporter',
  method: 'POST',
  path: '/v1/audit/exporters/{exporter_id}/test',
  summary: 'Send a test entry',
  description:
    'Sends one entry marked with `test: true`, which is not part of the log, and reports how the receiver responded.',
  permission: 'exporters:test',
  rate: 'write',
  audit: 'exporters:test',
  effect: 'read',
  status: 200,
  output: object({
    delivered: Type.Boolean({ description: 'Whether the receiver took the entry.' }),
    message: Type.String({ description: 'What the receiver responded, or why it could not be reached.' }),
    duration_ms: Type.Integer({ description: 'How long it took.' }),
  }),
  errors: ['NOT_FOUND'],
});

export const replayExporter = endpoint({
  ...common,
  ...ofOne,
  name: 'replayExporter',
  method: 'POST',
  path: '/v1/audit/exporters/{exporter_id}/replay',
  summary: 'Send entries again, from a time on',
  description:
    'Entries keep their ids, so the receiver can tell repeats. A replay only goes back: a time after the first entry that was not sent is refused. With `skip` the entries before that time that were not sent are left out for good; that needs approval, and they are counted in `skipped` and listed in `losses`.',
  permission: 'exporters:replay',
  rate: 'write',
  approval: 'siem_change',
  audit: 'exporters:replay',
  effect: 'change',
  body: object({
    from: timeInput('The time of the first entry to send.'),
    skip: Type.Optional(
      Type.Boolean({ description: 'Leaves out the entries before `from` that were not sent. Default: false.' }),
    ),
  }),
  status: 200,
  output: Exporter,
  errors: ['NOT_FOUND', 'VERSION_CONFLICT'],
});
