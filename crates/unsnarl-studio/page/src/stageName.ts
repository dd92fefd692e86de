// The name of the stage that is shown when a step is walked through, and what to see there.

import { element, make } from "./sidebar";

const STAGES: Record<string, [string, string]> = {
  untangle: ["Untangle", "The resolver has decided what to do; nothing has moved yet."],
  dynamics: ["Dynamics", "Where forces pull the cloth if nothing stops it. Contours are those from before."],
  contact: ["Contact", "Where the cloth may go. Contours are those from before."],
  analysis: ["Analysis", "Contours and colours are those of the cloth as it is now."],
};

/** Shows the stage that an activity names, or nothing. */
export function showStage(activity: string): void {
  const names = Object.keys(STAGES);
  const at = names.indexOf(activity.replace("stage:", ""));
  const shown = element("stage-name");
  shown.hidden = at < 0;
  if (at < 0) return;
  const [title, text] = STAGES[names[at]];
  const about = make("small");
  about.textContent = text;
  shown.replaceChildren(`Stage ${at + 1} of ${names.length}: ${title}`, about);
}
