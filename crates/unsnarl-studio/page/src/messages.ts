// What server and page say to each other. Mirrors `packet.rs`, `portrait.rs` and `command.rs` of the server.

export type ContourType = "CLOSED" | "EIGHT" | "CROSS" | "LL" | "BBII" | "BIBI" | "BLI" | "OTHER";

export const CONTOUR_TYPES: ContourType[] = ["CLOSED", "EIGHT", "CROSS", "LL", "BBII", "BIBI", "BLI", "OTHER"];

export interface Part {
  name: string;
  kind: "cloth" | "body";
  vertices: [number, number];
  triangles: [number, number];
}

export interface Arrays {
  [name: string]: Float32Array | Uint32Array | Uint8Array;
}

export interface Welcome {
  type: "welcome";
  version: string;
  files: { path: string; kind: "mesh" | "volume" | "cache"; bytes: number }[];
  samples: { name: string; about: string; family: string }[];
  methods: { name: string; label: string }[];
  styles?: { name: string; label: string }[];
  opens: boolean;
}

export interface FrameReport {
  frame: number;
  time: number;
  seconds: number;
  [field: string]: unknown;
}

export interface Opened {
  type: "opened";
  name: string;
  parts: Part[];
  cloth_vertices: number;
  remarks: string[];
  mean_edge?: number;
  title?: string;
  frame_rate?: number;
  last_frame?: number;
  reports?: FrameReport[];
  arrays: {
    positions: Float32Array;
    triangles: Uint32Array;
    edges: Uint32Array;
    panels: Float32Array;
    panel_triangles: Uint32Array;
  };
}

export interface Contour {
  type: ContourType;
  length: number;
  segments: number;
  sheets: [string, string];
  regions: [number, number];
  center: [number, number, number];
  radius: number;
  loop_vertices: number[];
}

export interface Frame {
  type: "frame";
  activity: string;
  steps: number;
  verdict: "tangled" | "clean" | { touching: number };
  types: Record<ContourType, number>;
  contour_count: number;
  contours: Contour[];
  red_vertices: number;
  contour_length: number;
  stage_times: Record<string, number>;
  undo_depth: [number, number];
  number?: number;
  time?: number;
  arrays: {
    positions: Float32Array;
    /** Of rigid bodies, in frames of a simulation. */
    bodies?: Float32Array;
    vertex_colours: Uint8Array;
    triangle_colours: Uint8Array;
    pins: Uint32Array;
    lines: Float32Array;
    line_contours: Uint32Array;
    panel_lines: Float32Array;
    panel_line_contours: Uint32Array;
    panel_line_traces: Uint8Array;
  };
}

export interface Strip {
  type: "strip";
  number: number;
  contours: number;
}

export type ToolName = "raise" | "lower" | "smooth" | "roughen" | "flatten" | "pull" | "stamp";

export interface StrokeBrush {
  tool: ToolName;
  radius: number;
  strength: number;
  falloff: "tent" | "smooth" | "flat";
  mirror?: { axis: "x" | "y" | "z"; at: number };
  shape?: string;
  operation?: "union" | "difference";
  blend?: number;
}

export interface StrokeEvent {
  time: number;
  pressure: number;
  ray: [number, number, number, number, number, number];
}

export interface VolumeFigures {
  resolution: number;
  stored_blocks: number;
  bytes: number;
  undo_depth: [number, number];
  undo_bytes: number;
  strokes: number;
}

export interface Sculpture extends VolumeFigures {
  type: "sculpture";
  name: string;
  spacing: number;
  origin: [number, number, number];
  block_width: number;
  /** Steps of a vertex between two samples. */
  units: number;
  bounds: [[number, number, number], [number, number, number]] | null;
}

export interface SculptStatus extends VolumeFigures {
  type: "sculpt-status";
  sequence: number;
}

export interface SculptFigures {
  type: "sculpt-figures";
  volume: number;
  bytes: number;
  refined_bytes: number;
}

export interface Blocks {
  type: "blocks";
  settled: boolean;
  sequence: number;
  stroke_milliseconds: number;
  undo_depth: [number, number];
  arrays: { table: Uint32Array; gone: Uint32Array; radii: Float32Array; positions: Uint8Array; normals: Uint8Array; indices: Uint8Array };
}

export interface Aimed {
  type: "aim";
  point: [number, number, number] | null;
  normal: [number, number, number];
}

export type FromServer =
  | Sculpture
  | SculptStatus
  | SculptFigures
  | Blocks
  | Aimed
  | Welcome
  | Opened
  | Frame
  | Strip
  | { type: "error"; text: string }
  | { type: "exists"; path: string; text: string }
  | { type: "saved"; path: string; clean: boolean }
  | { type: "download"; format: string; clean: boolean; arrays: { file: Uint8Array<ArrayBuffer> } };

export type Command =
  | { do: "welcome" | "pause" | "step" | "stage" | "undo" | "redo" | "release" }
  | { do: "open"; path: string; body?: string }
  | { do: "sample"; name: string; resolution?: number }
  | { do: "untangle"; method?: string; style?: string }
  | { do: "grab"; vertex: number; radius: number }
  | { do: "drag"; by: [number, number, number] }
  | { do: "pin" | "unpin"; vertex: number }
  | { do: "save"; path: string; existing: "keep" | "replace" }
  | { do: "download"; format: string }
  | { do: "frame"; number: number }
  | { do: "open-volume"; path: string; resolution?: number }
  | { do: "stroke"; brush?: StrokeBrush; events: StrokeEvent[]; lift: boolean; sequence: number }
  | { do: "aim"; ray: [number, number, number, number, number, number] }
  | { do: "camera"; eye: number[]; forward: number[]; up: number[]; field_of_view: number; pixels: [number, number] }
  | { do: "refine" | "figures" }
  | { do: "save-volume"; path: string; existing: "keep" | "replace" };

/** Header and array views of a packet. */
export function decode(message: ArrayBuffer): FromServer {
  const length = new DataView(message).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(message, 4, length)));
  const arrays: Arrays = {};
  for (const [name, [kind, offset, count]] of Object.entries<[string, number, number]>(header.arrays)) {
    const start = 4 + length + offset;
    arrays[name] =
      kind === "f32"
        ? new Float32Array(message, start, count)
        : kind === "u32"
          ? new Uint32Array(message, start, count)
          : new Uint8Array(message, start, count);
  }
  return { ...header, arrays };
}

/** An upload: the length of the name, the name, the bytes. */
export function encodeUpload(name: string, bytes: ArrayBuffer): Uint8Array<ArrayBuffer> {
  const encoded = new TextEncoder().encode(name).subarray(0, 256);
  const message = new Uint8Array(4 + encoded.length + bytes.byteLength);
  new DataView(message.buffer).setUint32(0, encoded.length, true);
  message.set(encoded, 4);
  message.set(new Uint8Array(bytes), 4 + encoded.length);
  return message;
}
