export const jobsTexts = {
  title: 'Background jobs',
  intro:
    'What the service does by itself, such as purging what has expired and verifying audit logs. Each job runs on one node at a time; the times are of all nodes.',
  lastRun: 'Last run',
  nextRun: 'Next run',
  lastError: 'Last error',
  asSoonAsFree: 'as soon as a node is free',
  running: 'running',
  outcomes: { success: 'succeeded', failure: 'failed', refused: 'refused to remove so much' },
  actions: 'Actions',
  run: 'Run now',
  runNamed: (name: string) => `Run now: ${name}`,
  started: (name: string) => `${name} runs within seconds.`,
} as const;
