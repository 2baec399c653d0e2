// The till: keypad, product buttons, the sound of a payment, what a tab in the background tells, and sharing.
(function () {
  'use strict';
  var momo = window.momo, body = document.body, context = null, known = {}, unseen = 0, title = document.title, muted = null;

  function loud() { if (muted !== null) { return !muted; } try { return localStorage.getItem('dash-sound') !== 'off'; } catch (ignored) { return true; }}
  function show(selector, yes) { momo.each(document.querySelectorAll(selector), function (one) { one.hidden = !yes; }); }
  // One context for all sounds. A browser lets it sound only after a touch of the page, and says so until then.
  function sounds() {
    var Sound = window.AudioContext || window.webkitAudioContext;
    if (!context && Sound) { try { context = new Sound(); } catch (ignored) { return null; } }
    show('[data-tap]', !!context && context.state === 'suspended' && loud());
    return context;
  }
  function wake() { if ((!context || context.state === 'suspended') && loud() && sounds()) { context.resume().then(function () { show('[data-tap]', false); }, function () { show('[data-tap]', true); }); }}
  function chime(pitches) {
    if (!loud() || !sounds()) { return; }
    pitches.forEach(function (pitch, place) {
      var tone = context.createOscillator(), volume = context.createGain(), at = context.currentTime + place * 0.14;
      tone.frequency.value = pitch;
      volume.gain.setValueAtTime(0.25, at);
      volume.gain.exponentialRampToValueAtTime(0.001, at + 0.5);
      tone.connect(volume).connect(context.destination);
      tone.start(at); tone.stop(at + 0.5);
    });
  }
  // What was paid is marked: `data-chime` names the order and its state, `data-say` is the sentence about it.
  function marks() {
    var found = {};
    momo.each(document.querySelectorAll('[data-chime]'), function (one) { found[one.getAttribute('data-chime')] = one; });
    return found;
  }
  function ring(mark, one) {
    var words = one.getAttribute('data-say') || one.textContent.trim();
    if (loud()) { body.setAttribute('data-rang', mark); }
    chime(one.hasAttribute('data-amber') ? [440, 330] : [659, 880, 1319]);
    momo.say.textContent = words;
    if (!document.hidden) { return; }
    unseen += 1;
    document.title = '(' + unseen + ') ' + title;
    try { if (window.Notification && Notification.permission === 'granted') { new Notification(words); } } catch (ignored) { return; }
  }
  function dress() {
    show('[data-sound],[data-pad]', true);
    show('[data-notify]', window.Notification && window.isSecureContext && Notification.permission === 'default');
    show('[data-share]', !!navigator.share);
    momo.each(document.querySelectorAll('[data-sound]'), function (one) { one.setAttribute('aria-pressed', loud()); });
    // With the keypad on the page a phone needs no keyboard of its own.
    if (document.querySelector('[data-pad]')) { document.getElementById('f-amount').inputMode = 'none'; }
  }
  function press(key) {
    var field = document.getElementById('f-amount'), typed = field.value;
    if (key === '<' || key === 'C') { field.value = key === 'C' ? '' : typed.slice(0, -1); return; }
    if (key === '.' ? typed.indexOf('.') >= 0 : /\.\d\d$/.test(typed)) { return; }
    if (key === '00') { key = /\.\d$/.test(typed) ? '0' : typed ? '00' : ''; }
    field.value = (key === '.' && !typed ? '0' : typed) + key;
  }
  // A product adds its price to the amount, and its name to what it is for.
  function add(name, price) {
    var amount = document.getElementById('f-amount'), what = document.getElementById('f-description'), had = Math.round(100 * amount.value) || 0;
    amount.value = ((had + Math.round(100 * price)) / 100).toFixed(2);
    what.value = what.value ? what.value + ', ' + name : name;
  }
  document.addEventListener('click', function (event) {
    var target = event.target.closest ? event.target.closest('[data-press],[data-sound],[data-notify],[data-share],[data-product]') : null;
    wake();
    if (!target) { return; }
    if (target.hasAttribute('data-press')) { press(target.getAttribute('data-press')); }
    if (target.hasAttribute('data-product')) { add(target.getAttribute('data-product'), target.getAttribute('data-price')); }
    if (target.hasAttribute('data-notify')) { Promise.resolve(Notification.requestPermission()).then(dress, dress); }
    if (target.hasAttribute('data-share')) { navigator.share({ text: target.getAttribute('data-share') }).catch(function () { target.focus(); }); }
    if (target.hasAttribute('data-sound')) {
      muted = loud();
      target.setAttribute('aria-pressed', loud());
      if (loud()) { chime([659, 880, 1319]); } else { show('[data-tap]', false); }
      try { localStorage.setItem('dash-sound', muted ? 'off' : 'on'); } catch (ignored) { return; }
    }
  });
  document.addEventListener('keydown', wake);
  document.addEventListener('visibilitychange', function () { if (!document.hidden) { unseen = 0; document.title = title; } });
  document.addEventListener('momo:swapped', function () {
    var found = marks();
    Object.keys(found).forEach(function (mark) { if (!known[mark]) { ring(mark, found[mark]); } });
    known = found; dress();
  });
  known = marks();
  if (Object.keys(known).length || document.querySelector('[data-tells]')) { sounds(); }
  dress();
}());
