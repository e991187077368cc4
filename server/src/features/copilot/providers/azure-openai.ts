import { OpenAi } from './openai.ts';

/** Azure OpenAI has the same API under another path, with the key in a header of its own; the model is the name of the deployment. */
export class AzureOpenAi extends OpenAi {
  constructor(config: { url: string; model: string }) {
    super(config, '/openai/v1');
  }

  protected override credentials(key: string): Record<string, string> {
    return { 'api-key': key };
  }
}
