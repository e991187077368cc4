import { feature } from '../../kernel/feature/declaration.ts';
import { Assistant } from './assistant.ts';
import { chat } from './chat.ts';
import * as contract from './contract.ts';
import { explainRisk } from './explain-risk.ts';
import { generateCode } from './generate-code.ts';
import { copilotNeeds } from './links.ts';
import { copilotSettings } from './settings.ts';
import { summarizePath } from './summarize-path.ts';
import { validationTasks } from './validation-tasks.ts';

export const copilotFeature = feature({
  name: 'copilot',
  endpoints: contract,
  tables: {
    plain: { copilot_usage: 'counts requests to the assistant; whoever writes here can allow more of them, or none' },
  },
  settings: [copilotSettings],
  uses: ['audit', 'clock', 'config', 'http', 'metrics'],
  needs: copilotNeeds,
  build(parts) {
    let assistant: Assistant | null = null;
    /** Made when it is first used, because the kernel may not be open yet. */
    const ready = () => {
      assistant ??= new Assistant(parts);
      return assistant;
    };
    return {
      handlers: {
        explainRisk: (ctx, { body }) =>
          explainRisk(
            ctx,
            { assistant: ready(), reader: parts.reader, anomalyPoints: parts.anomalyPoints },
            body.secret_id,
          ),
        summarizePath: (ctx, { body }) => summarizePath(ctx, ready(), body.attack_path_id),
        validationTasks: (ctx, { body }) => validationTasks(ctx, ready(), body),
        chat: (ctx, { body }) => chat(ctx, ready(), body.messages),
        generateCode: (ctx, { body }) => generateCode(ctx, ready(), body),
      },
      open: () => ready().open(),
    };
  },
});
