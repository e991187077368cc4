import type { Command } from 'commander';
import type { Coffer } from '../../../client/src/index.ts';
import { action, listing } from '../declared.ts';
import { ago, printJson } from '../output.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const certificates = program
    .command('certificates')
    .description('List and revoke certificates of machines, and print what to check them by');
  listing(certificates, {
    usage: 'list <connection>',
    alias: 'ls',
    summary: 'List the certificates of a connection, by its number or client id',
    route: 'GET /v1/app-connections/{connection}/certificates',
    arguments: ['path/connection'],
    rows: (page) => page.certificates,
    columns: [
      { title: 'SERIAL', of: ({ serial }) => serial },
      { title: 'THUMBPRINT', of: ({ thumbprint }) => thumbprint, isFlexible: true },
      { title: 'FROM', of: ({ not_before }) => ago(not_before) },
      { title: 'UNTIL', of: ({ not_after }) => ago(not_after) },
      { title: 'REVOKED', of: ({ revoked_at }) => ago(revoked_at) },
      { title: 'REASON', of: ({ reason }) => reason, isFlexible: true },
    ],
    empty: 'None was issued to it.',
  });
  action(certificates, {
    usage: 'revoke <connection> <serial>',
    summary: 'Revoke a certificate; it is refused from the next request on',
    route: 'POST /v1/app-connections/{connection}/certificates/{serial}/revoke',
    arguments: ['path/connection', 'path/serial'],
    options: [{ flags: '--reason <text>', description: 'why, such as key_compromise', to: 'body/reason' }],
    says: (_, { serial }) => `Revoked ${serial}.`,
  });
  printing(certificates, {
    usage: 'authority',
    summary: 'Print the authority of your tenant and the root it is from, in PEM',
    read: async (coffer) => coffer.text('GET /pki/{tenant_id}/ca.pem', await tenantOf(coffer)),
  });
  printing(certificates, {
    usage: 'revocations',
    summary: 'Print the lists of revoked certificates of your tenant, in PEM',
    read: async (coffer) => coffer.text('GET /pki/{tenant_id}/crl.pem', await tenantOf(coffer)),
  });
  printing(certificates, {
    usage: 'root',
    summary: 'Print the root certificate of the installation, in PEM',
    read: (coffer) => coffer.text('GET /pki/root.pem'),
  });
}

interface Printing {
  usage: string;
  summary: string;
  read(coffer: Coffer): Promise<string>;
}

function printing(parent: Command, { usage, summary, read }: Printing): void {
  parent
    .command(usage)
    .description(summary)
    .action(async (_, command: Command) => {
      const pem = await read(clientOf(settingsOf(command)));
      if (wantsJson(command)) return printJson({ pem });
      process.stdout.write(pem);
    });
}

async function tenantOf(coffer: Coffer) {
  const { tenant } = await coffer.call('GET /auth/me', {});
  return { path: { tenant_id: tenant.id } };
}
