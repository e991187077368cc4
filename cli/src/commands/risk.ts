import type { Command } from 'commander';
import { action, listing } from '../declared.ts';

export function register(program: Command): void {
  const risk = program.command('risk').description('See which secrets are at risk, and the weakest ways to them');
  action(risk, {
    usage: 'show <path>',
    summary: 'Compute the risk of a secret now, with the reasons for it',
    route: 'GET /v1/vaults/{vault}/secrets/{path}/risk',
    arguments: ['path/path'],
    options: [
      {
        flags: '--vault <name>',
        description: 'the vault (COFFER_VAULT, or that of the project)',
        to: 'path/vault',
        kind: 'vault',
      },
    ],
    isRead: true,
    shows: ({ vault, path, risk_score, risk_factors }) =>
      [
        `${vault}/${path}: ${risk_score} of 100`,
        ...risk_factors.map(({ factor, points }) => `  ${String(points).padStart(3)}  ${factor}`),
      ].join('\n'),
  });
  listing(risk, {
    usage: 'paths',
    isDefault: true,
    summary: 'List the weakest ways to a secret, the worst first',
    route: 'GET /attack-paths',
    rows: (page) => page.attack_paths,
    columns: [
      { title: 'PATH', of: ({ id }) => id },
      { title: 'SCORE', of: ({ score }) => score, isNumber: true },
      { title: 'STEPS', of: ({ steps }) => steps.map(({ name }) => name).join(' > '), isFlexible: true },
    ],
    empty: 'There is none that you may see. They are found daily, or now by: coffer risk recompute',
  });
  action(risk, {
    usage: 'path <id>',
    summary: 'Show one of them, step by step',
    route: 'GET /attack-paths/{attack_path_id}',
    arguments: ['path/attack_path_id'],
    isRead: true,
    shows: ({ steps }) =>
      steps
        .map(
          ({ kind, name, weakness, why }) =>
            `${String(weakness ?? '').padStart(3)}  ${kind} ${name}${why && `: ${why}`}`,
        )
        .join('\n'),
  });
  action(risk, {
    usage: 'recompute',
    summary: 'Compute all risks and attack paths again, in the background',
    route: 'POST /attack-paths/recompute',
    says: () => 'It begins within seconds. See what it found: coffer risk paths',
  });
}
