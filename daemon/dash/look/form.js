// Sends the forms that change something, so that what was typed is never lost: a form that does not arrive is sent again with the
// same token, so it does nothing twice; if the session is over its fields are kept until after the login.
(function () {
  'use strict';
  var momo = window.momo, note = document.getElementById('unsent'), KEPT = 'dash-kept', WAIT_MS = 15000, AGAIN_MS = [1000, 2000, 4000, 8000];

  function tell(what) { note.hidden = !what; note.textContent = note.getAttribute('data-' + what) || ''; }
  // Passwords, tokens and replies to a menu of the network are not kept. A form of class `slow` waits for long: the browser sends it.
  function keep(form) {
    var fields = [];
    momo.each(form.elements, function (one) {
      if (one.name && one.name !== 'reply' && !/^(hidden|password|submit|button)$/.test(one.type) && (one.checked || !/^(checkbox|radio)$/.test(one.type))) { fields.push([one.name, one.value]); }
    });
    try { sessionStorage.setItem(KEPT, JSON.stringify([form.getAttribute('action'), fields])); } catch (ignored) { return; }
  }
  function restore() {
    var kept, forms;
    try { kept = JSON.parse(sessionStorage.getItem(KEPT)); } catch (ignored) { return; }
    forms = kept ? momo.main().querySelectorAll('form[method=post]') : [];
    momo.each(forms, function (form) {
      if (form.getAttribute('action') !== kept[0]) { return; }
      momo.each(form.elements, function (one) {
        var found = kept[1].filter(function (field) { return field[0] === one.name; });
        if (/^(checkbox|radio)$/.test(one.type)) { one.checked = found.some(function (field) { return field[1] === one.value; }); } else if (found.length) { one.value = found[0][1]; }
      });
      sessionStorage.removeItem(KEPT);
      tell('kept');
    });
  }
  function send(form, body, turn) {
    var limit = window.AbortSignal && AbortSignal.timeout ? AbortSignal.timeout(WAIT_MS) : undefined;
    fetch(form.action, { method: 'POST', body: body, headers: { 'X-Form': '1' }, credentials: 'same-origin', signal: limit }).then(function (answer) {
      var to = answer.headers.get('X-Goto');
      // A proxy answers 502 or 504 for a daemon that does not run.
      if (answer.status === 502 || answer.status === 504) { throw new Error('away'); }
      if (to) {
        if (to.indexOf('/dash/login?') === 0) { keep(form); }
        return location.assign(to);
      }
      return answer.text().then(function (html) {
        tell('');
        momo.put(new DOMParser().parseFromString(html, 'text/html'));
      });
    }).catch(function () {
      if (turn < AGAIN_MS.length) {
        tell('trying');
        setTimeout(function () { send(form, body, turn + 1); }, AGAIN_MS[turn]);
      } else {
        tell('failed');
        form.removeAttribute('data-sent');
        momo.listen();
      }
    });
  }
  document.addEventListener('submit', function (event) {
    var form = event.target, button = event.submitter, body;
    // A second click while the first is on its way sends nothing. An answer within a second after it was shown was meant for what
    // stood there before.
    if (form.hasAttribute('data-sent') || form.closest('[data-calm]') && momo.fresh()) { event.preventDefault(); return; }
    if (form.method !== 'post' || form.classList.contains('slow') || !window.fetch || !window.URLSearchParams) { return; }
    event.preventDefault();
    form.setAttribute('data-sent', '');
    body = new URLSearchParams(new FormData(form));
    if (button && button.name) { body.append(button.name, button.value); }
    // What the own post changes is no news for this page: fetching it again would only delay the next page.
    momo.stop();
    send(form, body, 0);
  });
  document.addEventListener('momo:over', function () {
    momo.each(momo.main().querySelectorAll('form[method=post]'), function (form) {
      if (Array.prototype.some.call(form.elements, function (one) { return one.name && one.type !== 'hidden' && momo.touched(one); })) { keep(form); }
    });
  });
  window.addEventListener('pageshow', function () {
    momo.each(document.querySelectorAll('form[data-sent]'), function (form) { form.removeAttribute('data-sent'); });
  });
  restore();
}());
