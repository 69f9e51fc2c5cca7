"use strict";
(() => {
  // A file that was chosen or dropped is sent as it is; the answer names its page.
  const drop = document.getElementById("drop");
  const problem = document.getElementById("problem");
  const complain = (text) => {
    problem.textContent = text;
    problem.hidden = false;
    document.getElementById("told").textContent = "";
  };
  const send = async (file) => {
    problem.hidden = true;
    if (file.size > Number(drop.dataset.most)) {
      complain(`${file.name} has ${(file.size / 1e6).toFixed(1)} MB, and at most ${drop.dataset.most / 1e6} are allowed; start manyhands serve with a larger --max-size`);
      return;
    }
    document.getElementById("told").textContent = `Opening ${file.name} …`;
    try {
      const answer = await fetch(`${drop.dataset.to}?name=${encodeURIComponent(file.name)}`, {
        method: "POST", body: file, headers: {"content-type": "application/octet-stream"},
      });
      if (answer.ok) location.assign((await answer.json()).page);
      else complain((await answer.text()).trim());
    } catch {
      complain("The program does not answer. Is it still running?");
    }
  };
  if (drop) {
    const input = document.getElementById("file");
    input.addEventListener("change", () => { if (input.files[0]) send(input.files[0]); });
    const over = (event, on) => { event.preventDefault(); drop.classList.toggle("over", on); };
    for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, (event) => over(event, true));
    drop.addEventListener("dragleave", (event) => over(event, false));
    drop.addEventListener("drop", (event) => {
      over(event, false);
      if (event.dataTransfer.files[0]) send(event.dataTransfer.files[0]);
    });
    // A file that misses the box must not replace the page.
    for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());
  }

  // While something runs, its state is asked for; when it has ended, the page shows how.
  const progress = document.getElementById("progress");
  if (progress) {
    const stop = document.getElementById("stop");
    if (stop) stop.action = `${location.pathname}/stop`;
    const look = async () => {
      try {
        const state = await (await fetch(`${location.pathname}/state`)).json();
        if (!state.busy) { location.reload(); return; }
        const step = state.stopping ? "Stopping after this step" : state.step;
        const shown = document.getElementById("step");
        if (step && shown.textContent !== step) shown.textContent = step;
        document.getElementById("bar").value = state.done;
        document.getElementById("seconds").textContent = state.seconds;
        setTimeout(look, 400);
      } catch {
        document.getElementById("step").textContent = "The program does not answer. Is it still running?";
      }
    };
    setTimeout(look, 150);
  }
})();
