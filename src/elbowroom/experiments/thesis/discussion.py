"""What the report says about the results, test by test: of the arm and the gains that come with elbowroom."""

from __future__ import annotations

DISCUSSION: dict[str, str] = {
    "summary": (
        "What is not known of the original: the arm, its gains, where the coworker turns, how long the average is, "
        "and the zero of joint 3. So agreement shows that there is one set of gains with which the published laws "
        "give the published numbers, all together and on three plants. It does not show that it is the same set.\n\n"
        "The gains were searched once, over tests 1 to 4 on the kinematic plant, and then rounded. Tests 5 to 7, "
        "the other plants and the other arms had no part in that. In tests 5 to 7 the scene was chosen so that "
        "the effect shows, and in test 7 the strengths of the two potentials.\n\n"
        "Here the peaks of speed come from the moving average: one of 0.7 s answers a third of a second late, so "
        "the arm waits and then hurries. Without it the tool moves at about the coworker's own speed, which is "
        "half of the thesis' peaks."
    ),
    "1": (
        "Without the average there is no vibration here to take out, only corners, where the coworker turns on the "
        "spot. The thesis saw vibration, at a cycle of 0.158 s, and does not say where it came from. A sensor that "
        "is a centimetre off makes some: then the tool trembles without the average and is calm with it.\n\n"
        "The calm is paid for with delay. The supervisor counts that delay, and slows the arm on its way back "
        "towards the coworker."
    ),
    "2": (
        "Between surfaces only centimetres are left. An influence between axes says little about safety: most of "
        "half a metre lies inside the two bodies."
    ),
    "3": (
        "The arm swings about its first axis, out of the way; the other joints bring the tool back towards its place."
    ),
    "4": (
        "Rates are what the inertia matrix changes: joint 3, which carries a fifth of what the first two carry, "
        "becomes the fastest, and the first joint is spared. The way that a joint goes in all is much the same as "
        "under K. The wrist moves in neither, since nothing pushes beyond the lower arm."
    ),
    "5": (
        "The variant `fast` has a coworker of up to 2 m/s, faster than the arm may be. How that ends depends on "
        "the seed, and nothing in the method promises that it ends well."
    ),
    "6": (
        "The goal is within reach: alone, the tool gets there. Beside the obstacle it is caught where pull and "
        "push are equal, and swings, because with the moving average the push comes late. Without the average it "
        "is caught as well, but stands still. So being caught belongs to the field, and swinging to the filter. "
        "The scene was chosen: in most others the tool is caught too, and the swing dies out."
    ),
    "7": (
        "Both methods act after the moving average here. As printed, before it, they are late: a potential that is "
        "steep enough to stop a joint makes it swing wider and wider, and a factor lets it run into its end with the "
        "speed that the average remembers.\n\n"
        "The factor of (3.74) lets a joint creep up to the limit, the nearer the longer one waits, so its least angle "
        "says more about the length of the run than about the method. The limit is one of the task. What the "
        "supervisor says of the arm's own limits is in the column `verdict` of the recordings."
    ),
    "arms": (
        "The same gains, with each arm's own cover and a pose that gives the tool room to give way. The thesis' "
        "numbers stand beside them for orientation; there is no reason why another arm should meet them. A scheme of "
        "one push at a time, added at the tool, does not keep an arm off itself, its joints' ends or the floor: where "
        "that happens the motion could not be made, and the row says so."
    ),
    "recorded": (
        "elbowroom's own settings, not the thesis'. The sensor has the recording's gaps, in which its data grows "
        "old; contacts and distances are those of the person with the gaps filled. Under the supervisor data older "
        "than 0.1 s stops the arm until an operator resets it."
    ),
}
