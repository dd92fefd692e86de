"""A pyramid of 55 boxes in MuJoCo for five seconds: processor time, fastest box, poses. Usage: rigid_mujoco.py OUT.json"""

import json
import sys
import time

import mujoco
import numpy as np

HALF, SECONDS = 0.1, 5.0

rows = [(at + 0.5 * row - 4.5, row) for row in range(10) for at in range(10 - row)]
boxes = "".join(
    f'<body pos="{x * 2.1 * HALF} {HALF * (1 + 2 * row)} 0"><freejoint/>'
    f'<geom type="box" size="{HALF} {HALF} {HALF}" density="1000" friction="0.5 0 0"/></body>'
    for x, row in rows
)
model = mujoco.MjModel.from_xml_string(
    '<mujoco><size memory="64M"/><option gravity="0 -9.81 0"/><worldbody>'
    '<geom type="plane" size="50 50 1" zaxis="0 1 0" friction="0.5 0 0"/>' + boxes + "</worldbody></mujoco>"
)
data = mujoco.MjData(model)
begun = time.process_time()
for _ in range(round(SECONDS / model.opt.timestep)):
    mujoco.mj_step(model, data)
seconds = time.process_time() - begun
poses = data.qpos.reshape(-1, 7).tolist()
fastest = float(np.linalg.norm(data.qvel.reshape(-1, 6)[:, :3], axis=1).max())
with open(sys.argv[1], "w") as out:
    json.dump({"seconds": seconds, "fastest": fastest, "poses": poses, "step": model.opt.timestep}, out)
