import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import { secretReader } from '../secrets/index.ts';
import { Assistant } from './assistant.ts';
import { chat } from './chat.ts';
import * as contract from './contract.ts';
import { explainRisk } from './explain-risk.ts';
import { generateCode } from './generate-code.ts';
import { summarizePath } from './summarize-path.ts';
import { validationTasks } from './validation-tasks.ts';

export function copilotFeature(kernel: Kernel, wiring: Wiring): Feature {
  const { anomalyPoints } = wiring.needs('anomalyPoints');
  let assistant: Assistant | null = null;
  /** Made when it is first used, because the kernel may not be open yet. */
  const ready = () => {
    assistant ??= new Assistant(kernel);
    return assistant;
  };
  return {
    name: 'copilot',
    endpoints: bindContract(contract, {
      explainRisk: (ctx, { body }) =>
        explainRisk(ctx, { assistant: ready(), reader: secretReader(kernel), anomalyPoints }, body.secret_id),
      summarizePath: (ctx, { body }) => summarizePath(ctx, ready(), body.attack_path_id),
      validationTasks: (ctx, { body }) => validationTasks(ctx, ready(), body),
      chat: (ctx, { body }) => chat(ctx, ready(), body.messages),
      generateCode: (ctx, { body }) => generateCode(ctx, ready(), body),
    }),
    open: () => ready().open(),
  };
}
