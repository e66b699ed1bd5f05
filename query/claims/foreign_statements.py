"""Statements and questions in other languages, put into English for :mod:`claim_frame` to read.

They are only compared: nobody is shown them. A table for each language has the words that the English lists of this
room know, and those that hold a sentence together; what it lacks stays as it is written, and equals itself. A clause is
then put in the order of English: whoever it is about, the verb with its denial, the rest, and what stood in front of
the verb. One grammar reads German, Spanish, French, Italian and Portuguese. Japanese has its verb at the end, and
particles.

Pure.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from worlddb.log.model.times import DAYS
from worlddb.projections.indexes import analysis
from worlddb.projections.tables.names.canonical import in_latin_letters
from worlddb.query.claims import lexicon
from worlddb.query.question import foreign_times

MAX_KEPT: Final = 4_096
"""How many texts are kept in English, since recalls return the same memories repeatedly."""
MAX_CHARACTERS: Final = 400
"""A longer text is more than one statement."""
LEAST_KNOWN: Final = 2
"""So many words of a language, and more than English ones, tell that a text is in it; of verbs one is enough."""


class _Tables(NamedTuple):
    """The words of a language, as ``English: its forms`` parted by semicolons; ``_`` joins the words of a phrase."""

    verbs: str
    """Of each verb the forms for I, for she, for we, for they, the infinitive, participles and the past."""
    words: str
    """Nouns and adjectives."""
    adverbs: str
    """Words for when or how, that may stand anywhere."""
    prepositions: str
    pronouns: str
    small: str
    """Articles, possessives and conjunctions."""
    never: str
    """Words that stand beside a verb and say nothing in English."""
    no: str
    """Words that deny the verb."""
    no_more: str
    """Words or phrases that say, beside a denial or alone, that it is so no more."""
    is_pro_drop: bool
    """True if a verb says by itself that it is of me or of us."""


_TABLES: Final = {
    "de": _Tables(
        """
        find: finde findet finden finden finden gefunden fand; be: bin ist/beträgt/lautet sind sind sein gewesen
        war/waren/betrug; have: habe/hab hat haben haben - gehabt hatte/hatten; become: werde wird werden werden -
        worden/geworden wurde/wurden; live: wohne/lebe wohnt/lebt wohnen/leben wohnen/leben wohnen/leben
        gewohnt/gelebt wohnte/lebte; work: arbeite arbeitet arbeiten arbeiten arbeiten gearbeitet arbeitete; move: -
        - - - umziehen gezogen/umgezogen/verlegt/verschoben/hingezogen zog; quit: - - - - kündigen gekündigt -;
        take: nehme nimmt nehmen nehmen nehmen genommen nahm; eat: esse isst/ißt essen essen essen gegessen aß;
        drink: trinke trinkt trinken trinken trinken getrunken trank; like: mag mag mögen mögen mögen gemocht
        mochte; love: liebe liebt lieben lieben lieben geliebt liebte; hate: hasse hasst hassen hassen hassen
        gehasst hasste; prefer: bevorzuge bevorzugt bevorzugen bevorzugen bevorzugen bevorzugt bevorzugte; go: gehe
        geht gehen gehen gehen gegangen ging; travel: fahre/reise/fliege fährt/reist/fliegt fahren/reisen/fliegen
        fahren/reisen/fliegen fahren/reisen/fliegen gefahren/gereist/geflogen fuhr/reiste/flog; learn: lerne lernt
        lernen lernen lernen gelernt lernte; study: studiere studiert studieren studieren studieren studiert
        studierte; speak: spreche spricht sprechen sprechen sprechen gesprochen sprach; cost: - kostet - kosten
        kosten gekostet kostete; weigh: wiege wiegt wiegen wiegen wiegen gewogen wog; earn: verdiene verdient
        verdienen verdienen verdienen verdient verdiente; own: besitze besitzt besitzen besitzen besitzen besessen
        besaß; smoke: rauche raucht rauchen rauchen rauchen geraucht rauchte; play: spiele spielt spielen spielen
        spielen gespielt spielte; sell: verkaufe verkauft verkaufen verkaufen verkaufen verkauft verkaufte; buy:
        kaufe kauft kaufen kaufen kaufen gekauft kaufte; use: benutze/nutze/verwende benutzt/nutzt/verwendet
        benutzen/nutzen/verwenden benutzen/nutzen/verwenden benutzen/nutzen/verwenden benutzt/genutzt/verwendet
        benutzte/nutzte/verwendete; marry: heirate heiratet heiraten heiraten heiraten geheiratet heiratete;
        divorce: - - - - - geschieden -; steal: - - - - stehlen gestohlen stahl; break: - - - - - zerbrochen -;
        cancel: - - - - absagen abgesagt/storniert -; postpone: - - - - verschieben - verschob; stop: - - - -
        aufhören aufgehört -; lose: - - - - verlieren verloren verlor; be_called: heiße heißt/heisst heißen heißen
        heißen geheißen hieß; stay: bleibe bleibt bleiben bleiben bleiben geblieben blieb; want: will/möchte
        will/möchte wollen/möchten wollen wollen gewollt wollte; can: kann kann können können - - konnte; must: muss
        muss müssen müssen - - musste; may: darf darf dürfen dürfen - - durfte; see: sehe sieht sehen sehen sehen
        gesehen sah; meet: treffe trifft treffen treffen treffen getroffen traf; wear: trage trägt tragen tragen
        tragen getragen trug; need: brauche braucht brauchen brauchen brauchen gebraucht brauchte; start: beginne
        beginnt beginnen beginnen beginnen begonnen begann; lead: leite leitet leiten leiten leiten geleitet
        leitete; come: komme kommt kommen kommen kommen gekommen kam
        """,
        """
        rent: miete; boss: chef chefin vorgesetzte vorgesetzter; password: passwort kennwort; wifi: wlan;
        wifi_password: wlan-passwort; code: code; address: adresse anschrift; flat: wohnung; house: haus; job:
        stelle job; work: arbeit; salary: gehalt lohn; phone: telefon handy; number: nummer; car: auto wagen;
        bicycle: fahrrad rad; bike: bike; dog: hund hündin; cat: katze kater; brother: bruder; sister: schwester;
        brothers: brüder; mother: mutter mama; father: vater papa; parents: eltern; son: sohn; daughter: tochter;
        child: kind; children: kinder; wife: frau ehefrau; husband: mann ehemann; partner: partner partnerin;
        friend: freund freundin; uncle: onkel; aunt: tante; cousin: cousin cousine; grandmother: oma großmutter;
        grandfather: opa großvater; colleague: kollege kollegin; neighbour: nachbar nachbarin; landlord: vermieter
        vermieterin; doctor: arzt ärztin hausarzt hausärztin; dentist: zahnarzt zahnärztin; dentist_appointment:
        zahnarzttermin; doctor's_appointment: arzttermin; appointment: termin; meeting: besprechung sitzung treffen;
        teacher: lehrer lehrerin; nurse: krankenschwester pfleger; engineer: ingenieur ingenieurin; designer:
        designer designerin grafikerin grafiker; lawyer: anwalt anwältin; baker: bäcker bäckerin; cook: koch köchin;
        driver: fahrer fahrerin; meat: fleisch; fish: fisch; coffee: kaffee; tea: tee; milk: milch; vegetarian:
        vegetarier vegetarierin vegetarisch; vegan: vegan veganer veganerin; single: single ledig; married:
        verheiratet; divorced: geschieden; engaged: verlobt; pregnant: schwanger; allergic: allergisch; favourite:
        lieblings; colour: farbe; favourite_colour: lieblingsfarbe; favourite_restaurant: lieblingsrestaurant;
        favourite_food: lieblingsessen lieblingsgericht; favourite_drink: lieblingsgetränk; favourite_book:
        lieblingsbuch; favourite_film: lieblingsfilm; favourite_team: lieblingsverein; red: rot rote rotes roten
        roter; blue: blau blaue blaues blauen blauer; green: grün grüne grünes grünen grüner; white: weiß weiße
        weißes weißen weißer; black: schwarz schwarze schwarzes schwarzen schwarzer; yellow: gelb gelbe gelbes
        gelben gelber; grey: grau graue graues grauen grauer; old: alt alte altes alten alter; new: neu neue neues
        neuen neuer; budget: budget; price: preis; deadline: frist abgabetermin; version: version; birthday:
        geburtstag; flight: flug; trip: reise; holiday: urlaub; wedding: hochzeit; course: kurs; class: unterricht;
        school: schule; student: student studentin; unemployed: arbeitslos; retired: rentner rentnerin pensioniert;
        Ms: frau; Mr: herr herrn; euros: euro; years_old: jahre_alt; o'clock: uhr; broken: kaputt; ready: fertig;
        closed: geschlossen; open: offen geöffnet; sick: krank; name: name; day: tag; high: hoch; nationality:
        staatsangehörigkeit; blood_type: blutgruppe; project: projekt; team: team mannschaft; company: firma
        """,
        """
        now: jetzt nun inzwischen mittlerweile neuerdings derzeit momentan aktuell gerade seitdem; today: heute;
        again: wieder; still: noch immer_noch; also: auch außerdem ebenfalls zusätzlich; always: immer; never: nie
        niemals; only: nur; usually: meistens gewöhnlich; often: oft; sometimes: manchmal; formerly: früher damals
        vorher; previously: zuvor ehemals; probably: wahrscheinlich vermutlich; perhaps: vielleicht; already: schon
        bereits; soon: bald; finally: endlich schließlich; at_home: zu_hause daheim; on_Mondays: montags;
        on_Tuesdays: dienstags; on_Wednesdays: mittwochs; on_Thursdays: donnerstags; on_Fridays: freitags;
        on_Saturdays: samstags; on_Sundays: sonntags; every_day: täglich jeden_tag; every_morning: jeden_morgen
        morgens; every_evening: jeden_abend abends; instead: stattdessen; really: wirklich eigentlich; very: sehr;
        yesterday: gestern; tomorrow: morgen; from_now_on: ab_jetzt ab_sofort von_jetzt_an künftig; prefer: lieber
        am_liebsten; like: gern gerne
        """,
        """
        in: in im ins; at: bei beim an am um; to: nach zu zum zur; on: auf; from: ab von vom aus; with: mit; for:
        für; without: ohne; since: seit; until: bis; against: gegen; about: über; instead_of: statt anstatt
        statt_nach anstatt_nach; under: unter; as: als; near: nahe
        """,
        "I: ich; we: wir; she: sie; he: er; it: es; they: -",
        """
        the: der die das den dem des; this: dieser diese dieses diesen diesem; a: ein eine einen einem einer eines;
        my: mein meine meinen meinem meiner meines; our: unser unsere unseren unserem unserer; his: sein seine
        seinen seinem seiner; her: ihr ihre ihren ihrem ihrer; your: dein deine deinen deinem deiner; and: und; or:
        oder; but: aber sondern; where: wo wohin; when: wann; who: wer wen wem; what: was welche welcher welches
        welchen welchem; how: wie; no: kein keine keinen keinem keiner keines; that: dass
        """,
        "mich mir uns sich dich dir",
        "nicht",
        "mehr nicht_mehr",
        False,
    ),
    "es": _Tables(
        """
        be: soy/estoy es/está/tiene_lugar somos/estamos son/están ser/estar sido/estado era/estaba/fue; have: tengo
        tiene tenemos tienen tener tenido tenía; have_done: he ha hemos han haber - había; live: vivo vive vivimos
        viven vivir vivido vivía/vivió; work: trabajo trabaja trabajamos trabajan trabajar trabajado
        trabajaba/trabajó; move: - - - - mudar/mudarse mudado/mudada/trasladado/trasladada -; leave: dejo deja
        dejamos dejan dejar dejado dejé/dejó; quit: - - - - renunciar renunciado renuncié/renunció; take: tomo/cojo
        toma/coge tomamos/cogemos toman/cogen tomar/coger tomado/cogido tomaba/tomó; eat: como come comemos comen
        comer comido comía; drink: bebo bebe bebemos beben beber bebido bebía; drive: conduzco conduce conducimos
        conducen conducir conducido conducía; like: gusta gusta gustan gustan gustar gustado gustaba; love:
        amo/adoro ama/adora amamos/adoramos aman/adoran amar/adorar amado/adorado amaba/adoraba; hate: odio odia
        odiamos odian odiar odiado odiaba; prefer: prefiero prefiere preferimos prefieren preferir preferido
        prefería; go: voy va vamos van ir ido iba; travel: viajo viaja viajamos viajan viajar viajado viajaba;
        learn: aprendo aprende aprendemos aprenden aprender aprendido aprendía; study: estudio estudia estudiamos
        estudian estudiar estudiado estudiaba; speak: hablo habla hablamos hablan hablar hablado hablaba; cost: -
        cuesta - cuestan costar costado costaba/costó; weigh: peso pesa pesamos pesan pesar pesado pesaba; earn:
        gano gana ganamos ganan ganar ganado ganaba; pay: pago paga pagamos pagan pagar pagado pagaba; smoke: fumo
        fuma fumamos fuman fumar fumado fumaba; play: juego/toco juega/toca jugamos/tocamos juegan/tocan jugar/tocar
        jugado/tocado jugaba/tocaba; sell: vendo vende vendemos venden vender vendido/vendida vendía; buy: compro
        compra compramos compran comprar comprado/comprada compraba; use: uso/utilizo usa/utiliza usamos/utilizamos
        usan/utilizan usar/utilizar usado/utilizado usaba/utilizaba; marry: - - - - casarse casado/casada -;
        divorce: - - - - divorciarse divorciado/divorciada -; steal: - - - - robar robado/robada -; cancel: cancelo
        cancela - - cancelar cancelado/cancelada/anulado/anulada -; postpone: - - - - aplazar
        aplazado/aplazada/pospuesto/pospuesta/retrasado/retrasada -; change: cambio cambia cambiamos cambian cambiar
        cambiado/cambiada cambió; lose: pierdo pierde - - perder perdido/perdida perdió; be_called: llamo llama
        llamamos llaman llamarse llamado llamaba; want: quiero/quisiera quiere/quisiera queremos quieren querer
        querido quería; can: puedo puede podemos pueden poder podido podía; must: debo debe debemos deben - - debía;
        see: veo ve vemos ven ver visto veía; need: necesito necesita necesitamos necesitan necesitar necesitado
        necesitaba; start: empiezo/comienzo empieza/comienza empezamos/comenzamos empiezan/comienzan
        empezar/comenzar empezado/comenzado empezó/comenzó; wear: llevo lleva llevamos llevan llevar llevado
        llevaba; raise: - - - - subir subido/subida subió; lower: - - - - bajar bajado/bajada bajó
        """,
        """
        rent: alquiler; boss: jefe jefa; password: contraseña clave; wifi: wifi; code: código; address: dirección;
        flat: piso apartamento; house: casa; job: empleo puesto trabajo; salary: sueldo salario; phone: teléfono
        móvil; number: número; car: coche carro; bicycle: bicicleta bici; dog: perro perra; cat: gato gata; brother:
        hermano; sister: hermana; mother: madre mamá; father: padre papá; parents: padres; son: hijo; daughter:
        hija; children: hijos; child: niño niña; wife: esposa mujer; husband: marido esposo; partner: pareja;
        boyfriend: novio; girlfriend: novia; friend: amigo amiga; uncle: tío; aunt: tía; cousin: primo prima;
        nephew: sobrino; niece: sobrina; grandmother: abuela; grandfather: abuelo; colleague: compañero compañera
        colega; neighbour: vecino vecina; landlord: casero casera; doctor: médico médica doctora; dentist: dentista;
        appointment: cita; meeting: reunión; teacher: profesor profesora maestro maestra; nurse: enfermera
        enfermero; engineer: ingeniero ingeniera; designer: diseñador diseñadora; lawyer: abogado abogada; baker:
        panadero panadera; cook: cocinero cocinera; driver: conductor conductora; meat: carne; fish: pescado;
        coffee: café; tea: té; milk: leche; vegetarian: vegetariano vegetariana; vegan: vegano vegana; single:
        soltero soltera; engaged: prometido prometida; pregnant: embarazada; allergic: alérgico alérgica; favourite:
        favorito favorita preferido preferida; colour: color; red: rojo roja; blue: azul; green: verde; white:
        blanco blanca; black: negro negra; yellow: amarillo amarilla; grey: gris; old: viejo vieja antiguo antigua;
        new: nuevo nueva; former: ex; budget: presupuesto; price: precio; deadline: plazo; version: versión;
        birthday: cumpleaños; flight: vuelo; trip: viaje; holiday: vacaciones; wedding: boda; class: clase; course:
        curso; school: escuela colegio; student: estudiante; unemployed: parado parada desempleado desempleada;
        retired: jubilado jubilada; Mr: señor don; Ms: señora doña; years_old: años; broken: roto rota; ready: listo
        lista; closed: cerrado cerrada; open: abierto abierta; sick: enfermo enferma; name: nombre; train: tren;
        night_shift: turno_de_noche
        """,
        """
        now: ahora actualmente hoy_en_día; today: hoy; again: otra_vez de_nuevo nuevamente; still: todavía aún;
        also: también además; always: siempre; never: nunca jamás; only: solo sólo solamente; usually: normalmente;
        often: a_menudo; sometimes: a_veces; formerly: antes antiguamente anteriormente; probably: probablemente;
        perhaps: quizás quizá tal_vez; already: ya; finally: al_final finalmente por_fin; on_Mondays: los_lunes;
        on_Tuesdays: los_martes; on_Wednesdays: los_miércoles; on_Thursdays: los_jueves; on_Fridays: los_viernes;
        on_Saturdays: los_sábados; on_Sundays: los_domingos; every_day: todos_los_días cada_día; every_morning:
        todas_las_mañanas cada_mañana; every_night: todas_las_noches cada_noche; a_month: al_mes; a_day: al_día;
        a_week: a_la_semana; a_year: al_año; very: muy; yesterday: ayer; tomorrow: mañana; from_now_on:
        a_partir_de_ahora desde_ahora
        """,
        """
        in: en; to: a; to_the: al; of: de; of_the: del; from: desde a_partir_de; with: con; for: para por; without:
        sin; until: hasta; on: sobre; near: cerca_de cerca_del; instead_of: en_vez_de en_lugar_de; than: que; as:
        como
        """,
        "I: yo; we: nosotros nosotras; she: ella; he: él; they: ellos ellas",
        """
        the: el la los las lo; this: este esta; a: un una; some: unos unas; my: mi mis; our: nuestro nuestra
        nuestros nuestras; her: su sus; your: tu tus; and: y e; or: o u; but: pero sino; where: dónde adónde; when:
        cuándo; who: quién quiénes; what: qué cuál cuáles; how_much: cuánto cuánta; how: cómo; no: ningún ninguna
        """,
        "me se te nos",
        "no",
        "ya_no no_más",
        True,
    ),
    "fr": _Tables(
        """
        be: suis est/a_lieu sommes sont être été étais/était/étaient; have: ai a avons ont avoir eu
        avais/avait/avaient; live: habite/vis habite/vit habitons/vivons habitent/vivent habiter/vivre habité/vécu
        habitais/habitait/vivait; work: travaille travaille travaillons travaillent travailler travaillé
        travaillais/travaillait; move: - - - - déménager/emménager/installer
        déménagé/emménagé/installé/installée/déplacé/déplacée -; leave: quitte quitte quittons quittent quitter
        quitté quittais/quittait; quit: - - - - démissionner démissionné -; take: prends prend prenons prennent
        prendre pris/prise prenais/prenait; eat: mange mange mangeons mangent manger mangé mangeais/mangeait; drink:
        bois boit buvons boivent boire bu buvais/buvait; drive: conduis conduit conduisons conduisent conduire
        conduit conduisais/conduisait; like: aime aime aimons aiment aimer aimé aimais/aimait; love: adore adore
        adorons adorent adorer adoré adorais/adorait; hate: déteste déteste détestons détestent détester détesté
        détestais/détestait; prefer: préfère préfère préférons préfèrent préférer - préférais; go: vais va allons
        vont aller allé/allée allais/allait; travel: pars/voyage part/voyage partons/voyageons partent/voyagent
        partir/voyager parti/partie/voyagé partais/voyageais; learn: apprends apprend apprenons apprennent apprendre
        appris apprenais/apprenait; study: étudie étudie étudions étudient étudier étudié étudiais; speak: parle
        parle parlons parlent parler parlé parlais/parlait; cost: - coûte - coûtent coûter coûté coûtait; weigh:
        pèse pèse pesons pèsent peser pesé pesais; earn: gagne gagne gagnons gagnent gagner gagné gagnais; pay:
        paie/paye paie/paye payons paient payer payé payais/payait; smoke: fume fume fumons fument fumer fumé
        fumais/fumait; play: joue joue jouons jouent jouer joué jouais/jouait; sell: vends vend vendons vendent
        vendre vendu/vendue -; buy: achète achète achetons achètent acheter acheté/achetée -; use: utilise utilise
        utilisons utilisent utiliser utilisé utilisais/utilisait; marry: - - - - marier marié/mariée -; divorce: - -
        - - divorcer divorcé/divorcée -; steal: - - - - voler volé/volée -; cancel: annule annule - - annuler
        annulé/annulée -; postpone: - - - - reporter reporté/reportée/repoussé/repoussée/décalé/décalée -; change:
        change change changeons changent changer changé/changée -; stop: arrête arrête arrêtons arrêtent arrêter
        arrêté/cessé -; lose: perds perd - - perdre perdu/perdue -; be_called: appelle appelle appelons appellent
        appeler - appelait; want: veux/voudrais veut/voudrait voulons veulent vouloir voulu voulais; can: peux peut
        pouvons peuvent pouvoir pu pouvais; must: dois doit devons doivent devoir dû devais; see: vois voit voyons
        voient voir vu voyais; start: commence commence commençons commencent commencer commencé commençait; wear:
        porte porte portons portent porter porté portais; raise: - - - - augmenter augmenté/augmentée -; lower: - -
        - - baisser baissé/baissée -; lead: dirige dirige dirigeons dirigent diriger dirigé dirigeait
        """,
        """
        rent: loyer; boss: chef cheffe patron patronne; password: mot_de_passe; wifi: wifi; code: code; address:
        adresse; flat: appartement; house: maison; job: emploi poste travail; salary: salaire; phone: téléphone
        portable; number: numéro; car: voiture; bicycle: vélo; dog: chien chienne; cat: chat chatte; brother: frère;
        sister: sœur soeur; mother: mère maman; father: père papa; parents: parents; son: fils; daughter: fille;
        child: enfant; children: enfants; wife: femme épouse; husband: mari époux; partner: compagnon compagne;
        boyfriend: copain; girlfriend: copine; friend: ami amie; uncle: oncle; aunt: tante; cousin: cousin cousine;
        nephew: neveu; niece: nièce; grandmother: grand-mère mamie; grandfather: grand-père papi; colleague:
        collègue; neighbour: voisin voisine; landlord: propriétaire; doctor: médecin docteur; dentist: dentiste;
        appointment: rendez-vous; meeting: réunion; teacher: professeur professeure enseignant enseignante; nurse:
        infirmier infirmière; engineer: ingénieur ingénieure; designer: graphiste; lawyer: avocat avocate; baker:
        boulanger boulangère; cook: cuisinier cuisinière; driver: chauffeur; meat: viande; fish: poisson; coffee:
        café; tea: thé; milk: lait; vegetarian: végétarien végétarienne; vegan: végan végane végétalien
        végétalienne; single: célibataire; engaged: fiancé fiancée; pregnant: enceinte; allergic: allergique;
        favourite: préféré préférée; colour: couleur; red: rouge; blue: bleu bleue; green: vert verte; white: blanc
        blanche; black: noir noire; yellow: jaune; grey: gris grise; old: vieux vieille ancien ancienne; new:
        nouveau nouvelle nouvel; budget: budget; price: prix; deadline: échéance; version: version; birthday:
        anniversaire; flight: vol; trip: voyage; holiday: vacances; wedding: mariage; class: cours; school: école;
        student: étudiant étudiante; unemployed: chômage; retired: retraite retraité retraitée; Mr: monsieur m; Ms:
        madame mme; years_old: ans; broken: cassé cassée; ready: prêt prête; closed: fermé fermée; open: ouvert
        ouverte; sick: malade; name: nom; train: train
        """,
        """
        now: maintenant désormais actuellement dorénavant à_présent; today: aujourd'hui; again: à_nouveau
        de_nouveau; still: encore toujours; also: aussi également en_plus; never: jamais; only: seulement
        uniquement; usually: d'habitude; often: souvent; sometimes: parfois; formerly: avant auparavant autrefois;
        probably: probablement; perhaps: peut-être; already: déjà; finally: finalement enfin; on_Mondays: le_lundi
        les_lundis; on_Tuesdays: le_mardi les_mardis; on_Wednesdays: le_mercredi les_mercredis; on_Thursdays:
        le_jeudi les_jeudis; on_Fridays: le_vendredi les_vendredis; on_Saturdays: le_samedi les_samedis; on_Sundays:
        le_dimanche les_dimanches; every_day: tous_les_jours chaque_jour; every_morning: tous_les_matins
        chaque_matin; every_evening: tous_les_soirs chaque_soir; a_month: par_mois; a_day: par_jour; very: très;
        yesterday: hier; tomorrow: demain
        """,
        """
        in: en dans; at: chez; to: à; to_the: au aux; of: de d'; of_the: du des; from: depuis à_partir_de
        à_partir_du dès; with: avec; for: pour; without: sans; until: jusqu'à jusqu'au jusqu'en; on: sur; near:
        près_de près_du; instead_of: au_lieu_de au_lieu_du à_la_place_de à_la_place_du; than: que; as: comme; by:
        par
        """,
        "I: je j'; we: nous on; she: elle; he: il; they: ils elles",
        """
        the: le la les l'; this: ce cet cette; a: un une; my: mon ma mes; our: notre nos; her: son sa ses; their:
        leur leurs; your: ton ta tes votre vos; and: et; or: ou; but: mais; where: où; when: quand; who: qui; what:
        quel quelle quels quelles que qu'; how_much: combien; how: comment; no: aucun aucune
        """,
        "me m' se s' te t' y est-ce",
        "pas",
        "plus",
        False,
    ),
    "it": _Tables(
        """
        be: sono/sto è/sta/ha_luogo siamo/stiamo sono/stanno essere/stare stato/stata/stati era/ero/erano; have: ho
        ha abbiamo hanno avere avuto aveva/avevo; live: abito/vivo abita/vive abitiamo/viviamo abitano/vivono
        abitare/vivere abitato/vissuto abitava/abitavo/viveva/vivevo; work: lavoro lavora lavoriamo lavorano
        lavorare lavorato lavorava/lavoravo; move: - - - - trasferirsi trasferito/trasferita/traslocato/traslocata
        -; leave: lascio lascia lasciamo lasciano lasciare lasciato lasciava; quit: - - - - licenziarsi
        licenziato/licenziata/dimesso/dimessa -; take: prendo prende prendiamo prendono prendere preso/presa
        prendeva/prendevo; eat: mangio mangia mangiamo mangiano mangiare mangiato mangiava/mangiavo; drink: bevo
        beve beviamo bevono bere bevuto beveva/bevevo; drive: guido guida guidiamo guidano guidare guidato
        guidava/guidavo; like: piace piace piacciono piacciono piacere piaciuto piaceva; love: amo/adoro ama/adora
        amiamo/adoriamo amano/adorano amare/adorare amato/adorato amava/adorava; hate: odio odia odiamo odiano
        odiare odiato odiava; prefer: preferisco preferisce preferiamo preferiscono preferire preferito preferiva;
        go: vado va andiamo vanno andare andato/andata andava/andavo; travel: viaggio viaggia viaggiamo viaggiano
        viaggiare viaggiato viaggiava; learn: imparo impara impariamo imparano imparare imparato imparava/imparavo;
        study: studio studia studiamo studiano studiare studiato studiava/studiavo; speak: parlo parla parliamo
        parlano parlare parlato parlava/parlavo; cost: - costa - costano costare costato/costata costava; weigh:
        peso pesa pesiamo pesano pesare pesato pesava; earn: guadagno guadagna guadagniamo guadagnano guadagnare
        guadagnato guadagnava; pay: pago paga paghiamo pagano pagare pagato/pagata pagava/pagavo; smoke: fumo fuma
        fumiamo fumano fumare fumato fumava/fumavo; play: gioco/suono gioca/suona giochiamo/suoniamo giocano/suonano
        giocare/suonare giocato/suonato giocava/suonava; sell: vendo vende vendiamo vendono vendere venduto/venduta
        vendeva; buy: compro compra compriamo comprano comprare comprato/comprata comprava; use: uso/utilizzo
        usa/utilizza usiamo/utilizziamo usano/utilizzano usare/utilizzare usato/usata/utilizzato usava/utilizzava;
        marry: - - - - sposarsi sposato/sposata -; divorce: - - - - divorziare divorziato/divorziata -; steal: - - -
        - rubare rubato/rubata -; cancel: annullo annulla - - annullare annullato/annullata/cancellato/cancellata -;
        postpone: - - - - rimandare rimandato/rimandata/rinviato/rinviata/spostato/spostata/posticipato/posticipata
        -; change: cambio cambia cambiamo cambiano cambiare cambiato/cambiata cambiava; stop: smetto smette
        smettiamo smettono smettere smesso -; lose: perdo perde - - perdere perso/persa -; be_called: chiamo chiama
        chiamiamo chiamano chiamarsi - chiamava; want: voglio/vorrei vuole/vorrebbe vogliamo vogliono volere voluto
        voleva/volevo; can: posso può possiamo possono potere potuto poteva; must: devo deve dobbiamo devono dovere
        dovuto doveva; see: vedo vede vediamo vedono vedere visto vedeva; start: comincio/inizio comincia/inizia
        cominciamo/iniziamo cominciano/iniziano cominciare/iniziare cominciato/iniziato cominciava/iniziava; wear:
        porto porta portiamo portano portare portato portava; raise: - - - - aumentare aumentato/aumentata -; lower:
        - - - - abbassare abbassato/abbassata -; lead: dirigo dirige dirigiamo dirigono dirigere diretto dirigeva
        """,
        """
        rent: affitto; boss: capo capa; password: password; wifi: wifi wi-fi; code: codice; address: indirizzo;
        flat: appartamento; house: casa; job: impiego posto lavoro; salary: stipendio; phone: telefono cellulare
        telefonino; number: numero; car: macchina auto automobile; bicycle: bicicletta bici; dog: cane; cat: gatto
        gatta; brother: fratello; sister: sorella; mother: madre mamma; father: padre papà babbo; parents: genitori;
        son: figlio; daughter: figlia; children: figli; child: bambino bambina; wife: moglie; husband: marito;
        partner: compagno compagna; boyfriend: ragazzo fidanzato; girlfriend: ragazza fidanzata; friend: amico
        amica; uncle: zio; aunt: zia; cousin: cugino cugina; nephew: nipote; grandmother: nonna; grandfather: nonno;
        colleague: collega; neighbour: vicino vicina; doctor: medico dottore dottoressa; dentist: dentista;
        appointment: appuntamento; meeting: riunione; teacher: insegnante professore professoressa maestro maestra;
        nurse: infermiere infermiera; engineer: ingegnere; designer: grafico grafica; lawyer: avvocato avvocata;
        baker: fornaio panettiere; cook: cuoco cuoca; driver: autista; meat: carne; fish: pesce; coffee: caffè; tea:
        tè; milk: latte; vegetarian: vegetariano vegetariana; vegan: vegano vegana; single: single nubile celibe;
        pregnant: incinta; allergic: allergico allergica; favourite: preferito preferita; colour: colore; red: rosso
        rossa; blue: blu azzurro azzurra; green: verde; white: bianco bianca; black: nero nera; yellow: giallo
        gialla; grey: grigio grigia; old: vecchio vecchia; new: nuovo nuova; budget: budget; price: prezzo;
        deadline: scadenza; version: versione; birthday: compleanno; flight: volo; trip: viaggio; holiday: vacanza
        vacanze; wedding: matrimonio; class: lezione; course: corso; school: scuola; student: studente studentessa;
        unemployed: disoccupato disoccupata; retired: pensionato pensionata; Mr: signor; Ms: signora; years_old:
        anni; broken: rotto rotta; ready: pronto pronta; closed: chiuso chiusa; open: aperto aperta; sick: malato
        malata; name: nome; train: treno; day: giorno; night_shift: turno_di_notte; day_shift: turno_di_giorno
        """,
        """
        now: ora adesso attualmente oggigiorno; today: oggi; again: di_nuovo nuovamente; still: ancora; also: anche
        inoltre; always: sempre; never: mai; only: solo solamente soltanto; usually: di_solito; often: spesso;
        sometimes: a_volte; formerly: prima precedentemente una_volta; probably: probabilmente; perhaps: forse;
        already: già; finally: alla_fine finalmente infine; on_Mondays: il_lunedì ogni_lunedì; on_Tuesdays:
        il_martedì ogni_martedì; on_Wednesdays: il_mercoledì ogni_mercoledì; on_Thursdays: il_giovedì ogni_giovedì;
        on_Fridays: il_venerdì ogni_venerdì; on_Saturdays: il_sabato ogni_sabato; on_Sundays: la_domenica
        ogni_domenica; every_day: ogni_giorno tutti_i_giorni; every_morning: ogni_mattina tutte_le_mattine;
        every_evening: ogni_sera tutte_le_sere; a_month: al_mese; a_day: al_giorno; very: molto; yesterday: ieri;
        tomorrow: domani; from_now_on: d'ora_in_poi
        """,
        """
        in: in; in_the: nel nella nello nell' nei nelle; to: a ad; to_the: al alla allo all' ai alle; of: di d';
        of_the: del della dello dell' dei delle; from: da; from_the: dal dalla dallo dall' dai dalle; with: con;
        for: per; without: senza; until: fino_a fino_al; on: su; on_the: sul sulla sull'; near: vicino_a vicino_al;
        instead_of: invece_di invece_del al_posto_di; than: che; as: come
        """,
        "I: io; we: noi; she: lei; he: lui; they: loro",
        """
        the: il lo la i gli le l'; this: questo questa; a: un uno una un'; my: mio mia miei mie; our: nostro nostra
        nostri nostre; her: suo sua suoi sue; your: tuo tua; and: e ed; or: o; but: ma; where: dove; when: quando;
        who: chi; what: quale quali cosa che_cosa qual; how_much: quanto quanta; how: come; no: nessun nessuna
        """,
        "mi si ti ci me c'",
        "non",
        "più",
        True,
    ),
    "pt": _Tables(
        """
        be: sou/estou é/está/tem_lugar/acontece somos/estamos são/estão ser/estar sido/estado era/estava/foi; have:
        tenho tem temos têm ter tido tinha; live: moro/vivo mora/vive moramos/vivemos moram/vivem morar/viver
        morado/vivido morava/vivia; work: trabalho trabalha trabalhamos trabalham trabalhar trabalhado trabalhava;
        move: mudo muda mudamos mudam mudar mudado mudei/mudou/mudaram; leave: deixo deixa deixamos deixam deixar
        deixado deixei/deixou/saí/saiu; quit: - - - - demitir-se - -; take: tomo tomam - - tomar tomado
        tomava/tomou; eat: como come comemos comem comer comido comia; drink: bebo bebe bebemos bebem beber bebido
        bebia; drive: dirijo/conduzo dirige/conduz dirigimos/conduzimos dirigem/conduzem dirigir/conduzir
        dirigido/conduzido dirigia/conduzia; like: gosto gosta gostamos gostam gostar gostado gostava; love:
        amo/adoro ama/adora amamos/adoramos amam/adoram amar/adorar amado/adorado amava/adorava; hate: odeio odeia
        odiamos odeiam odiar odiado odiava; prefer: prefiro prefere preferimos preferem preferir preferido preferia;
        go: vou vai vamos vão ir ido ia; travel: viajo viaja viajamos viajam viajar viajado viajava; learn: aprendo
        aprende aprendemos aprendem aprender aprendido aprendia; study: estudo estuda estudamos estudam estudar
        estudado estudava; speak: falo fala falamos falam falar falado falava; cost: - custa - custam custar custado
        custava; weigh: peso pesa pesamos pesam pesar pesado pesava; earn: ganho ganha ganhamos ganham ganhar ganho
        ganhava; pay: pago paga pagamos pagam pagar pago pagava; smoke: fumo fuma fumamos fumam fumar fumado fumava;
        play: jogo/toco joga/toca jogamos/tocamos jogam/tocam jogar/tocar jogado/tocado jogava/tocava; sell: vendo
        vende vendemos vendem vender vendido/vendida vendi/vendeu; buy: compro compra compramos compram comprar
        comprado/comprada comprei/comprou; use: uso/utilizo usa/utiliza usamos/utilizamos usam/utilizam
        usar/utilizar usado/utilizado usava/utilizava; marry: - - - - casar casado/casada casei/casou; divorce: - -
        - - divorciar divorciado/divorciada divorciei/divorciou; steal: - - - - roubar roubado/roubada -; cancel:
        cancelo cancela - - cancelar cancelado/cancelada cancelei/cancelou; postpone: - - - - adiar
        adiado/adiada/remarcado/remarcada -; change: - - - - - alterado/alterada -; stop: paro para paramos param
        parar parado parei/parou; lose: perco perde - - perder perdido/perdida perdi/perdeu; be_called: chamo chama
        chamamos chamam chamar-se - chamava; want: quero quer queremos querem querer querido queria; can: posso pode
        podemos podem poder podido podia; must: devo deve devemos devem dever - devia; see: vejo vê vemos veem ver
        visto via; need: preciso precisa precisamos precisam precisar precisado precisava; start: começo começa
        começamos começam começar começado comecei/começou; wear: uso usa - - - - -; raise: - - - - aumentar
        aumentado/aumentada -; lower: - - - - baixar baixado/baixada -
        """,
        """
        rent: aluguel renda; boss: chefe chefa; password: senha palavra-passe; wifi: wifi wi-fi; code: código;
        address: endereço morada; flat: apartamento; house: casa; job: emprego trabalho; salary: salário; phone:
        telefone celular telemóvel; number: número; car: carro; bicycle: bicicleta; dog: cachorro cão cachorra
        cadela; cat: gato gata; brother: irmão; sister: irmã; mother: mãe; father: pai; parents: pais; son: filho;
        daughter: filha; children: filhos; child: criança; wife: esposa mulher; husband: marido esposo; boyfriend:
        namorado; girlfriend: namorada; friend: amigo amiga; uncle: tio; aunt: tia; cousin: primo prima; nephew:
        sobrinho; niece: sobrinha; grandmother: avó; grandfather: avô; colleague: colega; neighbour: vizinho
        vizinha; doctor: médico médica; dentist: dentista; appointment: consulta; meeting: reunião; teacher:
        professor professora; nurse: enfermeiro enfermeira; engineer: engenheiro engenheira; lawyer: advogado
        advogada; baker: padeiro padeira; cook: cozinheiro cozinheira; driver: motorista; meat: carne; fish: peixe;
        coffee: café; tea: chá; milk: leite; vegetarian: vegetariano vegetariana; vegan: vegano vegana; single:
        solteiro solteira; pregnant: grávida; allergic: alérgico alérgica; favourite: favorito favorita preferido
        preferida; colour: cor; red: vermelho vermelha; blue: azul; green: verde; white: branco branca; black: preto
        preta; yellow: amarelo amarela; grey: cinza cinzento; old: velho velha antigo antiga; new: novo nova;
        budget: orçamento; price: preço; deadline: prazo; version: versão; birthday: aniversário; flight: voo; trip:
        viagem; holiday: férias; wedding: casamento; class: aula; course: curso; school: escola; student: estudante;
        unemployed: desempregado desempregada; retired: aposentado aposentada reformado reformada; Mr: senhor; Ms:
        senhora; years_old: anos; broken: quebrado quebrada; ready: pronto pronta; closed: fechado fechada; open:
        aberto aberta; sick: doente; name: nome; train: trem comboio; day: dia; night_shift: turno_da_noite
        """,
        """
        now: agora atualmente hoje_em_dia; today: hoje; again: de_novo novamente outra_vez; still: ainda; also:
        também além_disso; always: sempre; never: nunca jamais; only: só somente apenas; usually: normalmente;
        often: frequentemente; sometimes: às_vezes; formerly: antes antigamente anteriormente; probably:
        provavelmente; perhaps: talvez; finally: finalmente no_final afinal; on_Mondays: às_segundas; on_Tuesdays:
        às_terças; on_Wednesdays: às_quartas; on_Thursdays: às_quintas; on_Fridays: às_sextas; on_Saturdays:
        aos_sábados; on_Sundays: aos_domingos; every_day: todos_os_dias todo_dia; every_morning: todas_as_manhãs
        toda_manhã; a_month: por_mês; a_day: por_dia; very: muito; yesterday: ontem; tomorrow: amanhã; from_now_on:
        a_partir_de_agora
        """,
        """
        in: em; in_the: no na nos nas; to: a para para_o para_a; to_the: ao à aos às; of: de; of_the: do da dos das;
        from: desde a_partir_de; with: com; for: por; without: sem; until: até; on: sobre; near: perto_de perto_do;
        instead_of: em_vez_de em_vez_do; than: que; as: como
        """,
        "I: eu; we: nós; she: ela; he: ele; they: eles elas",
        """
        the: o a os as; this: este esta; a: um uma; my: meu minha meus minhas; our: nosso nossa nossos nossas; her:
        seu sua seus suas; your: teu tua; and: e; or: ou; but: mas; where: onde aonde; when: quando; who: quem;
        what: qual quais que; how_much: quanto quanta; how: como; no: nenhum nenhuma
        """,
        "me se te nos",
        "não",
        "já_não mais",
        True,
    ),
}


class _Item(NamedTuple):
    """A word or a phrase of a text, and what it is in English."""

    kind: str
    """Of a verb ``finite``, ``infinitive`` or ``participle``; else one of the other tables, or ``word``."""
    english: str
    person: str = ""
    """Of a finite verb ``I``, ``she``, ``we`` or ``they``; ``past`` for its past."""
    said: str = ""


_ASKING: Final = frozenset(("where", "when", "who", "what", "how", "how_much"))
_PERSONS: Final = ("I", "she", "we", "they", "infinitive", "participle", "past")
_TOKEN: Final = re.compile(
    r"aujourd['’]hui|(?:[cdjlmnst]|qu|un|[dn]?[ae]ll)['’](?=\w)|jusqu['’]\w+"
    r"|\d+(?:[.,:]\d+)*|[^\W_]+(?:-[^\W_]+)*|[^\w\s]",
    re.I,
)
_STOPS: Final = frozenset(".,;:!?¿¡")


@cache
def _readings(language: str) -> tuple[dict[str, tuple[_Item, ...]], int]:
    """By each form of a language, its words joined by blanks, what it may be; and the most words of a form."""
    tables = _TABLES[language]
    found: dict[str, dict[_Item, None]] = {}

    def add(form: str, item: _Item) -> None:
        if form != "-":
            found.setdefault(form.replace("_", " "), {})[item] = None

    for english, forms in _entries(tables.verbs):
        for person, form in zip(_PERSONS, forms, strict=True):
            for each in form.split("/"):
                kind = person if person in ("infinitive", "participle") else "finite"
                add(each, _Item(kind, english, "" if kind == person else person))
    for kind, table in (
        ("noun", tables.words),
        ("adverb", tables.adverbs),
        ("preposition", tables.prepositions),
        ("pronoun", tables.pronouns),
        ("small", tables.small),
    ):
        for english, forms in _entries(table):
            for form in forms:
                is_asking = kind == "small" and english in _ASKING
                add(form, _Item("asking" if is_asking else kind, english.replace("_", " ")))
    for kind, table in (("never", tables.never), ("no", tables.no), ("no more", tables.no_more)):
        for form in table.split():
            add(form, _Item(kind, ""))
    if language == "fr":
        for form in ("ne", "n'"):
            add(form, _Item("denied", ""))
    for form, number in foreign_times.number_words(language).items():
        found.setdefault(form, {_Item("word", number): None})
    _add_regular_forms(language, found)
    for form in [form for form in found if not form.isascii()]:
        # Accents are often left out.
        plain = "".join(sign for sign in unicodedata.normalize("NFD", form) if not unicodedata.combining(sign))
        found.setdefault(plain, found[form])
    return {form: tuple(items) for form, items in found.items()}, max(form.count(" ") for form in found) + 1


def _add_regular_forms(language: str, found: dict[str, dict[_Item, None]]) -> None:
    """Add plurals of nouns and infinitives with a pronoun behind, where a language makes them by one rule."""
    for form, readings in [*found.items()] if language != "de" else ():
        for each in readings:
            if each.kind == "noun" and language != "it" and each.english not in _ADJECTIVES:
                many = f"{form}s" if language == "fr" or form[-1:] in "aeiouáéíóúã" else f"{form}es"
                found.setdefault(many, {each._replace(english=f"{each.english}s"): None})
            elif each.kind == "infinitive":
                pronouns = ("mi", "ti", "si", "ci") if language == "it" else ("me", "te", "se", "nos")
                for pronoun in pronouns:
                    found.setdefault(f"{form.removesuffix('e') if language == 'it' else form}{pronoun}", {each: None})


def _entries(table: str) -> Iterable[tuple[str, list[str]]]:
    for entry in " ".join(table.split()).split(";"):
        english, _, forms = entry.partition(":")
        yield english.strip(), forms.split()


def in_english(text: str) -> str:
    """A statement or a question in English words, as far as the tables know them.

    As it is if it is in English, in a language without tables, or longer than one statement is.
    """
    if len(text) > MAX_CHARACTERS:
        return text
    return text if text.isascii() and _foreign_words().isdisjoint(analysis.words_in(text)) else _in_english(text)


@cache
def _foreign_words() -> frozenset[str]:
    known = {word for language in _TABLES for form in _readings(language)[0] for word in form.split()}
    return frozenset(known) - analysis.STOP_WORDS


@lru_cache(maxsize=MAX_KEPT)
def _in_english(text: str) -> str:
    if _KANA.search(text) is not None:
        return _japanese(text)
    language = _language_of(text)
    return text if not language else _put_in_order(text, language)


def _language_of(text: str) -> str:
    """The language of a text that has more words of its tables than English ones; empty for English and others.

    One word is enough if it is a verb and no English one: "Tia nimmt Ibuprofen".
    """
    said = _TOKEN.findall(_CLITIC.sub(" ", text[: analysis.MAX_QUERY_CHARACTERS].replace("’", "'")))
    words, is_of_several = [word.casefold() for word in said], sum(word[0].isalnum() for word in said) > 1
    best, most = "", sum(word in _english_words() for word in words)
    for language in _TABLES:
        known = _readings(language)[0]
        count = sum(word in known for word in words) + any(sign in text for sign in _SIGNS.get(language, ""))
        kinds = [
            {each.kind for each in known[word]} for word in words if word in known and word not in _english_words()
        ]
        is_told = is_of_several and any(not each.isdisjoint(("finite", "participle")) for each in kinds)
        is_told |= len(kinds) >= LEAST_KNOWN and any(each != {"noun"} for each in kinds)
        if count > most and is_told:
            best, most = language, count
    return best


_SIGNS: Final = {"de": "ß", "es": "ñ¿¡", "fr": "œ", "pt": "ãõ"}


@cache
def _english_words() -> frozenset[str]:
    verbs = lexicon.word_set(lexicon.SINGLE_VERBS) | lexicon.LIKING | lexicon.AUX | lexicon.WISHES
    return analysis.STOP_WORDS | lexicon.LIGHT_WORDS | lexicon.attribute_words().keys() | lexicon.CHANGE | verbs


def other_forms(question: str) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """By each word of a question in another language its other forms and words for the same, and words that tell it.

    Of "wohnte" that is "wohnen" and "lebt"; of "coche", the car, who drives tells it. Words are in small letters.
    """
    language = _language_of(question) if _KANA.search(question) is None else ""
    if not language:
        return {}
    known, by_english = _readings(language)[0], _forms_of(language)
    found = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]()
    for word in dict.fromkeys(_TOKEN.findall(question.casefold().replace("’", "'"))):
        words = [
            each.english for each in known.get(word, ()) if each.kind in _OF_CONTENT and each.english not in _HELPING
        ]
        same = dict.fromkeys(form for each in words for form in by_english.get(each, ()) if form != word)
        stems = (stem for each in words for stem in analysis.told_by().get(lexicon.plain_stem(each), ()))
        told = dict.fromkeys(form for stem in stems for form in _forms_by_stem(language).get(stem, ()))
        if same or told:
            found[word] = tuple(same), tuple(form for form in told if form not in same)
    return found


_OF_CONTENT: Final = frozenset(("finite", "infinitive", "participle", "noun"))
_HELPING: Final = frozenset(("be", "have", "have_done", "become", "can", "must", "may", "want"))
"""Verbs that tell little of what is asked."""


@cache
def _forms_of(language: str) -> dict[str, tuple[str, ...]]:
    """By each English word the single words of a language for it."""
    found: dict[str, dict[str, None]] = {}
    for form, readings in _readings(language)[0].items():
        for each in readings if " " not in form else ():
            if each.kind in _OF_CONTENT:
                found.setdefault(each.english, {})[form] = None
    return {english: tuple(forms) for english, forms in found.items()}


@cache
def _forms_by_stem(language: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for english, forms in _forms_of(language).items():
        stem = lexicon.plain_stem(english)
        found[stem] = (*found.get(stem, ()), *forms)
    return found


def _put_in_order(text: str, language: str) -> str:
    sentences = list[str]()
    for items in _clauses(_items(text, language)):
        stop = items[-1].english if items and items[-1].kind == "stop" else ""
        said = _clause([item for item in items if item.kind != "stop"], language)
        sentences.append(f"{said}{stop}")
    told = re.sub(r"\s+([.,;:!?])", r"\1", " ".join(" ".join(sentences).split()))
    return re.sub(r"(?:^|(?<=[.!?] ))[^\W\d_]", lambda found: found[0].upper(), told)


def _items(text: str, language: str) -> list[_Item]:
    """The words of a text in their order, times and phrases as one."""
    known, longest = _readings(language)
    found = list[_Item]()
    for part in _times_apart(text, language):
        if isinstance(part, _Item):
            if part.english.startswith(("on ", "in ")):
                # "Auf den 19. März" and "al 17 de marzo" have their preposition.
                found, to = _without_preposition(found)
                part = part._replace(english=f"to {part.english[3:]}" if to else part.english)
            found.append(part)
            continue
        words = _TOKEN.findall(_CLITIC.sub(" ", part.replace("’", "'")))
        at = 0
        while at < len(words):
            length = next(
                (
                    length
                    for length in range(min(longest, len(words) - at), 0, -1)
                    if " ".join(words[at : at + length]).casefold() in known
                ),
                0,
            )
            said = " ".join(words[at : at + max(length, 1)])
            if length:
                behind = words[at + length] if at + length < len(words) else ""
                item = _choose(known[said.casefold()], found, behind)._replace(said=said.casefold())
                is_name = said[0].isupper() and _of_clause(found) and (language != "de" or item.kind in _NO_NAMES)
                found.append(_Item("word", said) if is_name else item)
            elif said in _STOPS:
                found += [_Item("stop", said)] if said not in "¿¡" else []
            elif said[0].isalnum():
                found.append(_Item("word", _as_word(said, found, language), said=said))
            at += max(length, 1)
    return found


def _without_preposition(items: list[_Item]) -> tuple[list[_Item], bool]:
    """What stands before a time without a preposition and an article right before it, and whether there was one."""
    kept = items[:-1] if items and items[-1].kind == "small" else items
    return (kept[:-1], True) if kept and kept[-1].kind == "preposition" else (items, False)


def _times_apart(text: str, language: str) -> Iterable[str | _Item]:
    """The times that a text names in English, and what is between them."""
    at = 0
    for phrase in foreign_times.phrases(text, language):
        said = text[phrase.start : phrase.end]
        if phrase.english and _EACH_WEEK.match(said) is None:
            yield text[at : phrase.start]
            yield _Item("time", phrase.english.replace("since or from", "since"))
            at = phrase.end
    yield text[at:]


_EACH_WEEK: Final = re.compile(r"(?:le|il|la) \w+$|am liebsten", re.I)
_CLITIC: Final = re.compile(r"(?<=\w)-(?=(?:me|te|se|nos|lhe|je|tu|il|elle|nous|vous|on)\b)")


def _choose(readings: Sequence[_Item], before: Sequence[_Item], behind: str) -> _Item:
    """What a form with several meanings is here: behind an article no verb, in front of a second name no wife."""
    if len(readings) == 1:
        return readings[0]
    last = before[-1] if before else _Item("stop", "")
    is_behind_article = last.kind in ("small", "preposition")
    if is_behind_article and (nouns := [each for each in readings if each.kind == "noun"]):
        return next((each for each in nouns if each.english not in _TITLES), nouns[0])
    if behind[:1].isupper() and (titles := [each for each in readings if each.english in _TITLES]):
        return titles[0]
    has_verb = any(item.kind == "finite" for item in _of_clause(before))
    verbs = [each for each in readings if each.kind == "finite"]
    others = [each for each in readings if each.kind != "finite" and (has_verb or each.kind != "participle")]
    if verbs and not (has_verb and others) and not (is_behind_article and others):
        return next((each for each in verbs if each.person == "she"), verbs[0])
    kinds = ("participle", "small", "preposition", "pronoun", "adverb", "no", "noun", "infinitive")
    return min(others or readings, key=lambda each: kinds.index(each.kind) if each.kind in kinds else len(kinds))


_NO_NAMES: Final = frozenset(("small", "preposition"))
"""What has a capital in a German sentence only as part of a name; so have all words in the other languages."""
_TITLES: Final = frozenset(("Ms", "Mr"))


def _of_clause(items: Sequence[_Item]) -> Sequence[_Item]:
    stop = next((at for at in range(len(items) - 1, -1, -1) if items[at].kind == "stop"), -1)
    return items[stop + 1 :]


def _as_word(said: str, before: Sequence[_Item], language: str) -> str:
    """A word that no table has; German nouns behind an article are no names."""
    if language != "de" or not before or not said[0].isupper():
        return said
    last = before[-1]
    is_adjective = last.kind == "word" and last.english.islower() and last.english[-1:] in "enrsm"
    is_noun = (last.kind == "small" and last.english != "no") or (is_adjective and len(before) > 1)
    return said.lower() if is_noun else said


def _clauses(items: Sequence[_Item]) -> Iterable[list[_Item]]:
    """Parts of a text with one finite verb each, up to a stop, or before a conjunction."""
    part = list[_Item]()
    for at, item in enumerate(items):
        is_conjunction = item.kind == "small" and item.english in ("and", "or", "but")
        if is_conjunction and _has_verb(part) and _has_verb(_until_stop(items[at:])):
            yield part
            part = []
        part.append(item)
        if item.kind == "stop":
            yield part
            part = []
    if part:
        yield part


def _has_verb(items: Iterable[_Item]) -> bool:
    return any(item.kind == "finite" for item in items)


def _until_stop(items: Sequence[_Item]) -> Sequence[_Item]:
    stop = next((at for at, item in enumerate(items) if item.kind == "stop"), len(items))
    return items[:stop]


def _clause(items: list[_Item], language: str) -> str:
    """A clause in English, in the order of its words there."""
    lead = [items.pop(0)] if items and items[0].english in ("and", "or", "but") else []
    at = next((place for place, item in enumerate(items) if item.kind == "finite"), None)
    if at is None:
        return _joined([*lead, *items])
    verb, front, rest = items[at], items[:at], items[at + 1 :]
    beside = [item for item in items if item.kind == "never"]
    subject, front, rest = _subject(verb, front, rest, beside, language)
    conjunction = next((place for place, item in enumerate(rest) if item.english in ("and", "but", "or")), len(rest))
    rest, more = rest[:conjunction], rest[conjunction:]
    kinds = {item.kind for item in (*front, *rest)}
    is_no = any(item.english == "no" and item.kind == "small" for item in rest)
    over = next((place for place, item in enumerate(rest) if item.kind == "no more"), None)
    # "Nicht mehr Brot als Käse" compares, and "nicht mehr als Koch" does not.
    is_compared = over is not None and any(item.english in ("as", "than") for item in rest[over + 2 :])
    is_over = not is_compared and any(
        item.kind == "no more" and (" " in item.said or is_no or kinds & {"no", "denied"}) for item in (*front, *rest)
    )
    if is_over:
        rest = [item for item in rest if not (item.kind == "small" and item.english == "no")]
    if is_compared:
        rest = [_Item("word", "at most"), *rest]
    predicate, rest = _predicate(verb, rest, beside, subject, is_denied="no" in kinds, is_over=is_over)
    front = [item for item in front if item.kind not in _DROPPED]
    late = [item for item in rest if item.kind == "adverb"]
    rest = [item for item in rest if item.kind != "adverb"]
    rest = rest if language == "de" else _adjectives_in_front(_compounds(rest))
    return _joined([*lead, _Item("word", subject), _Item("word", predicate), *rest, *more, *late, *front])


def _adjectives_in_front(items: Iterable[_Item]) -> list[_Item]:
    """The words of a clause with each adjective before its noun: a red car."""
    found = list[_Item]()
    for item in items:
        at = len(found)
        if item.english in lexicon.COLOURS and at and found[-1].kind == "small":
            found.pop()  # "Es el azul" and "c'est le bleu" are of a colour.
            at -= 1
        while at and item.english in _ADJECTIVES and found[at - 1].kind in ("noun", "word"):
            at -= 1
        found.insert(at, item)
    return found


def _compounds(items: Sequence[_Item]) -> list[_Item]:
    """The words of a clause with what stands behind "of" before its noun: the wifi password, Lucía's sister."""
    found = list[_Item]()
    at = 0
    while at < len(items):
        behind = items[at + 1 : at + 4]
        of = behind[0].english if behind and behind[0].kind == "preposition" else ""
        to = 2 if of == "of" and behind[1:2] and behind[1].kind == "small" and behind[1].english == "the" else 1
        owner = behind[to] if of in ("of", "of the") and len(behind) > to else None
        if items[at].kind == "noun" and owner is not None and owner.kind in ("noun", "word"):
            is_name = owner.english[:1].isupper()
            if is_name and found and found[-1].kind == "small" and found[-1].english == "the":
                found.pop()
            found += [owner._replace(english=f"{owner.english}'s" if is_name else owner.english), items[at]]
            at += to + 2
            continue
        found.append(items[at])
        at += 1
    return found


_ADJECTIVES: Final = frozenset(
    [
        "favourite",
        "red",
        "blue",
        "green",
        "white",
        "black",
        "yellow",
        "grey",
        "old",
        "new",
        "former",
        "open",
        "closed",
        "broken",
        "ready",
    ]
)


def _joined(items: Iterable[_Item]) -> str:
    said = list[str]()
    for item, behind in pairwise([*items, _Item("stop", "")]):
        if item.kind == "small" and item.english == "the" and behind.english in _POSSESSIVES:
            continue  # "La mia casa" is my house.
        is_over = item.kind == "no more" and " " in item.said
        said.append("no longer" if is_over else "not" if item.kind == "no" else item.english)
    return " ".join(word for word in said if word)


_POSSESSIVES: Final = frozenset(("my", "our", "her", "his", "your", "their"))
_DROPPED: Final = frozenset(("no", "no more", "never", "denied"))


def _subject(
    verb: _Item, front: list[_Item], rest: list[_Item], beside: list[_Item], language: str
) -> tuple[str, list[_Item], list[_Item]]:
    """Whom a clause is about, and what stands before and behind its verb beside that."""
    pronoun = next((item for item in (*front[::-1], *rest[:2]) if item.kind == "pronoun"), None)
    if pronoun is not None:
        front, rest = ([item for item in part if item is not pronoun] for part in (front, rest))
        return pronoun.english, front, rest
    if verb.english == "like" and (liking := next((item.said for item in beside if item.said in _LIKING), "")):
        return _LIKING[liking], front, rest
    if verb.person in ("I", "we") and _TABLES[language].is_pro_drop:
        return verb.person, front, rest
    named = [item for item in front if item.kind not in ("adverb", "time", "no", "no more", "never", "denied")]
    if named and named[0].kind != "preposition":
        others = [item for item in front if item not in named]
        named = named if language == "de" else _adjectives_in_front(_compounds(named))
        return _joined(named), others, rest
    taken = list[_Item]()
    for item in rest:
        is_next = bool(taken) and item.kind == "small" and taken[-1].kind != "small"
        if item.kind not in ("small", "noun", "word") or is_next:
            break
        taken.append(item)
    if language == "de" and front and taken:
        return _joined(taken), front, rest[len(taken) :]
    if not named and _TABLES[language].is_pro_drop and verb.person == "past":
        return "I", front, rest
    return _joined(front), [], rest


_LIKING: Final = {"me": "I", "mi": "I", "nos": "we", "ci": "we"}
"""Whom something pleases likes it."""
_ACTIVE: Final = frozenset(("move", "go", "travel", "come", "stay", "become", "be"))
"""Verbs whose perfect is made with "to be"."""
_OWN: Final = _ACTIVE | {"marry", "divorce", "be_called", "leave", "quit"}
"""Verbs that somebody does, where the reflexive says of others that it was done to a thing."""


def _predicate(
    verb: _Item, rest: list[_Item], beside: list[_Item], subject: str, *, is_denied: bool, is_over: bool
) -> tuple[str, list[_Item]]:
    """The verb of a clause in English with its denial, and what stands behind it."""
    base, form, rest = _compound(verb, rest, beside)
    behind = [item for item in rest if item.kind not in _DROPPED]
    if base == "find" and behind[-1:] and behind[-1].said == "statt":
        base, behind = "be", behind[:-1]  # "Findet statt" is "takes place".
    if base == "have" and any(item.english == "years old" for item in behind):
        base = "be"
    if base in ("like", "play", "need") and behind[:1] and behind[0].english in ("of", "of the"):
        behind = behind[1:]
    if base in ("leave", "stop") and [item.kind for item in behind[:2]] == ["preposition", "infinitive"]:
        base, behind = "stop", behind[1:]
    if base == "quit" and behind[:1] and behind[0].english == "at":
        behind = [_Item("word", "the job"), *behind]
    wish = next((item for item in behind if item.english in ("prefer", "like") and item.kind == "adverb"), None)
    if wish is not None:
        behind = [_Item("word", _gerund(base)), *(item for item in behind if item is not wish)]
        base = wish.english
    if (where := _PLACED.get(base)) is not None:
        behind = [
            item._replace(english=_PLACES.sub(where, item.english)) if _is_of_place(item) else item for item in behind
        ]
    behind = [item._replace(english=_gerund(item.english)) if item.kind == "infinitive" else item for item in behind]
    is_past = verb.person == "past"
    return _conjugated(base, form, subject, is_past=is_past, is_denied=is_denied, is_over=is_over), behind


_PLACED: Final = {"live": "in", "stay": "in", "work": "at", "leave": "at", "quit": "at"}
"""Verbs with the preposition before the place: "en", "à" and "a" are of any."""
_PLACES: Final = re.compile("^(?:to|in)(?= the$|$)")


def _is_of_place(item: _Item) -> bool:
    return item.kind == "preposition" and _PLACES.match(item.english) is not None and item.said not in ("in", "im")


def _compound(verb: _Item, rest: list[_Item], beside: list[_Item]) -> tuple[str, str, list[_Item]]:
    """What is done, in which form if a participle says it, and what stands behind the verb without participles."""
    done = [item for item in rest if item.kind == "participle"]
    if not done or verb.english not in ("have", "have_done", "be", "become"):
        return verb.english, "", rest
    base = next((item.english for item in done if item.english not in ("be", "become")), done[0].english)
    is_passive = len(done) > 1 and any(item.english in ("be", "become") for item in done)
    is_had = verb.english in ("have", "have_done") or (verb.english == "be" and base in _ACTIVE)
    # "Se ha aplazado" was done to a thing, "se ha mudado" by somebody.
    is_reflexive = verb.english == "have_done" and any(item.said == "se" for item in beside) and base not in _OWN
    is_passive |= is_reflexive
    form = "perfect" if is_had and not is_passive else "passive perfect" if is_passive else "passive"
    return base, form, [item for item in rest if item.kind != "participle"]


def _conjugated(base: str, form: str, subject: str, *, is_past: bool, is_denied: bool, is_over: bool) -> str:
    """A verb for a subject: lives, has moved, no longer takes, did not like."""
    is_many = subject in ("I", "we", "they", "you") or subject.endswith("s and") or " and " in subject
    base, _, particle = base.partition("_")
    be = ("was" if is_past else "am") if subject == "I" else ("were" if is_past else "are") if is_many else ""
    be = be or ("was" if is_past else "is")
    have = "had" if is_past else "have" if is_many else "has"
    past, done = _forms(base)
    over = "no longer " if is_over else ""
    no = " not" if is_denied and not is_over else ""
    if form == "perfect":
        said = f"{over}{have}{no} {done}"
    elif form:
        said = f"{over}{have}{no} been {done}" if form == "passive perfect" else f"{over}{be}{no} {done}"
    elif base == "be":
        said = f"{be} no longer" if is_over else f"{be}{no}"
    elif base in ("can", "must", "may"):
        said = f"{over}{base}{no}"
    elif no:
        said = f"{'did' if is_past else 'do' if is_many else 'does'} not {base}"
    else:
        said = f"{over}{past if is_past else base if is_many else _third(base)}"
    return f"{said} {particle}".strip()


def _third(base: str) -> str:
    if base == "have":
        return "has"
    if base.endswith("y") and base[-2] not in "aeou":
        return f"{base[:-1]}ies"
    return f"{base}es" if base.endswith(("o", "s", "ch", "sh")) else f"{base}s"


def _gerund(base: str) -> str:
    base = base.partition("_")[0]
    return f"{base[:-1] if base.endswith('e') and base != 'be' else base}ing"


def _forms(base: str) -> tuple[str, str]:
    """The past and the participle of an English verb."""
    if base in ("be", "have", "become", "quit", "cost"):
        return {
            "be": ("was", "been"),
            "have": ("had", "had"),
            "become": ("became", "become"),
            "quit": ("quit", "quit"),
            "cost": ("cost", "cost"),
        }[base]
    if (known := analysis.irregular_forms().get(base)) is not None:
        return known[0], known[-1]
    if base.endswith("y") and base[-2] not in "aeou":
        return (f"{base[:-1]}ied",) * 2
    regular = f"{base}d" if base.endswith("e") else f"{base}ped" if base == "stop" else f"{base}ed"
    return regular, regular


_KANA: Final = re.compile("[\u3041-\u30ff]")
_JA_VERBS: Final = """
    live: に§ 住んで 住み; work: で 働いて 働き; work: にで 勤めて 勤め; move: に 引っ越して 引っ越し; move: に
    引越して 引越し; move: に 移って 移り; move: に 転居して 転居し; quit: を 辞めて 辞め; stop: を やめて やめ; quit:
    を 退職して 退職し; take: を 服用して 服用し; drink: を 飲んで 飲み; eat: を 食べて 食べ; smoke: を 吸って 吸い;
    drive: にを 乗って 乗り; drive: を 運転して 運転し; sell: を 売って 売り; buy: を 買って 買い; use: を 使って
    使い; go: に 通って 通い; go: に 行って 行き; go: へ 行って 行き; learn: を 習って 習い; learn: を 学んで 学び;
    study: を 勉強して 勉強し; speak: を 話して 話し; play: を 弾いて 弾き; marry: と 結婚して 結婚し; divorce: と
    離婚して 離婚し; lose: を 失くして 失くし; lose: を なくして なくし; start: を 始めて 始め; cancel: を
    キャンセルして キャンセルし; have: を 持って 持ち; have: を 飼って 飼い; wear: を 着て 着; lead: を 率いて 率い;
    travel: へ 旅行して 旅行し; enter: に 入学して 入学し; join: に 入社して 入社し; pay: を 払って 払い; need: を
    必要として 必要とし; prefer: を 好んで 好み; meet: に 会って 会い; stay: に 泊まって 泊まり; earn: を 稼いで 稼ぎ;
    like: が 好きで 好き
"""
"""Of each verb its particle, and what stands before the endings of what goes on, and of all others."""
_JA_NOUNS: Final = """
    brother: 弟 兄; sister: 妹 姉; mother: 母 お母さん; father: 父 お父さん; son: 息子; daughter: 娘; child: 子供
    子ども; wife: 妻; husband: 夫 主人; grandmother: 祖母; grandfather: 祖父; friend: 友達 友人; colleague: 同僚;
    boss: 上司; landlord: 大家; partner: 恋人; girlfriend: 彼女; boyfriend: 彼氏; dog: 犬; cat: 猫; home: 家; rent:
    家賃; salary: 給料; password: パスワード; code: 暗証番号; address: 住所; phone: 電話 携帯; number: 番号;
    phone_number: 電話番号; name: 名前; colour: 色; food: 食べ物; drink: 飲み物; car: 車; bicycle: 自転車;
    appointment: 予約; meeting: 会議; dentist: 歯医者 歯科; doctor: 医者; job: 仕事; company: 会社; school: 学校;
    class: 教室; trip: 旅行; flight: 便; wedding: 結婚式; birthday: 誕生日; deadline: 締め切り 締切; budget: 予算;
    price: 値段; coffee: コーヒー; tea: お茶; meat: 肉; fish: 魚; milk: 牛乳; cigarettes: タバコ 煙草 たばこ;
    night_shift: 夜勤; day_shift: 日勤; single: 独身; vegetarian: ベジタリアン 菜食主義; vegan: ヴィーガン; engineer:
    エンジニア; nurse: 看護師; teacher: 教師 先生; student: 学生; red: 赤; blue: 青; green: 緑; white: 白; black: 黒;
    yellow: 黄色; where: どこ; when: いつ; who: 誰; what: 何; how_much: いくら; married: 既婚; unemployed: 無職;
    user: ユーザー
"""
_JA_BEFORE_NOUNS: Final = (
    *(("どの", "what"), ("何の", "what"), ("新しい", "new"), ("古い", "old"), ("前の", "former"), ("今の", "current")),
    *(("一番好きな", "favourite"), ("好きな", "favourite"), ("白い", "white"), ("赤い", "red"), ("青い", "blue")),
    *(("黒い", "black"), ("緑の", "green")),
)
_JA_MINE: Final = frozenset(("私", "僕", "俺", "わたし", "うち", "我が家", "私たち"))
_JA_PEOPLE: Final = frozenset(
    [
        "brother",
        "sister",
        "mother",
        "father",
        "son",
        "daughter",
        "child",
        "wife",
        "husband",
        "grandmother",
        "grandfather",
        "friend",
        "colleague",
        "boss",
        "landlord",
        "partner",
        "girlfriend",
        "boyfriend",
        "dog",
        "cat",
    ]
)
_JA_TOPIC: Final = re.compile("(?P<topic>[^はが]+?)(?:は|が(?!大?好き|嫌い|あり|ある|います|いる))(?P<rest>.+)")
_JA_DAYS: Final = dict(zip("月火水木金土日", DAYS, strict=True))
_JA_TIMES: Final = (
    (re.compile("毎朝"), "every morning"),
    (re.compile("朝は"), "in the morning"),
    (re.compile("いつ"), "when"),
    (re.compile("毎晩"), "every evening"),
    (re.compile("毎日"), "every day"),
    (re.compile(r"午後(\d{1,2})時"), r"at \1 pm"),
    (re.compile(r"(?:午前)?(\d{1,2})時"), r"at \1 am"),
    (re.compile("今は|今(?![月年週日])|現在は?"), "now"),
    (re.compile("以前は?|昔は?|かつて"), "formerly"),
)
_JA_PARTS: Final = re.compile("(?P<said>.+?)(?P<particle>から|まで|[をに§でへとが])(?![んす])")
_JA_WAYS: Final = {
    "を": "",
    "に": "to",
    "で": "at",
    "へ": "to",
    "§": "in",
    "と": "with",
    "から": "from",
    "まで": "until",
    "が": "",
}


def _japanese(text: str) -> str:
    """A Japanese text in English words: whom it is about, what its end says, and its other parts by their particles."""
    parts = re.split(r"(?<=[。！？!?])|\n", text)
    return " ".join(_japanese_sentence(each) for each in parts if each.strip())


def _japanese_sentence(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).strip()
    stop = "?" if plain.endswith(("?", "か。", "か")) else "."
    plain = re.sub("か$", "", plain.rstrip("。.?! "))
    plain, times = _japanese_times(plain)
    plain = re.sub(r"(\d+)歳", r"\1 years old", plain)
    is_over, is_still = plain.startswith("もう"), plain.startswith("まだ")
    plain = re.sub("^(?:もう|まだ|[にの、])", "", plain)
    subject, rest = "I", plain
    if (told := _JA_TOPIC.match(plain)) is not None:
        subject, rest = "I" if told["topic"] in _JA_MINE else _japanese_noun(told["topic"], owned=True), told["rest"]
    rest = rest.strip("、 ")
    is_over, is_still = is_over or rest.startswith("もう"), is_still or rest.startswith("まだ")
    rest = re.sub("^(?:もう|まだ)", "", rest)
    predicate, rest = _japanese_predicate(rest)
    if is_over:
        predicate = predicate.replace("do not", "no longer").replace("is not", "is no longer")
    what = _japanese_parts(rest)
    if not rest and told is not None and _takes_object(predicate) and told["topic"] not in _JA_MINE:
        subject, what = "I", [_japanese_noun(told["topic"], owned=False)]
    if predicate == "was moved to" and times:
        predicate, times = "was moved", [re.sub("^(?:on|in) ", "to ", times[0]), *times[1:]]
    words = (subject, _agree(predicate, subject), *what, "still" * is_still, *times)
    said = " ".join(word for word in words if word)
    return f"{said[:1].upper()}{said[1:]}{stop}"


def _japanese_predicate(text: str) -> tuple[str, str]:
    """What a sentence says of whom it is about, and what stands before that, with the particle of its verb."""
    for form, predicate in _japanese_ends():
        if (found := form.search(text)) is not None:
            way = next((name for name in form.groupindex if found[name]), "")
            particle = {"particle0": "を", "particle1": "§", "particle2": "で"}.get(way, found[way] if way else "")
            return predicate, text[: found.start()] + particle
    return "", text


def _takes_object(predicate: str) -> bool:
    """True if what somebody does is done to a thing, which may be what a sentence is about."""
    found = ((english, particle) for english, (particle, *_) in _entries(_JA_VERBS) if particle == "を")
    verbs = {form for english, _ in found for form in (english, *_forms(english))}
    return not (verbs | {"like", "hate"}).isdisjoint(predicate.split())


def _japanese_times(plain: str) -> tuple[str, list[str]]:
    """A sentence without the times that it names, and these in English."""
    times = list[str]()
    for phrase in reversed(foreign_times.phrases(plain, "ja")):
        if phrase.english:
            english = phrase.english.replace("since or from", "from")
            day = _JA_DAYS.get(plain[phrase.start]) if plain[phrase.start + 1 : phrase.start + 3] == "曜日" else None
            behind = re.sub("^(?:の|に|、)", "", plain[phrase.end :])
            plain, times = plain[: phrase.start] + behind, [f"on {day.title()}s" if day else english, *times]
    for form, english in _JA_TIMES:
        if (found := form.search(plain)) is not None:
            behind = re.sub("^(?:の|に|、)", "", plain[found.end() :])
            plain = plain[: found.start()] + behind
            times.append(found.expand(english))
    return plain, times


@cache
def _japanese_ends() -> tuple[tuple[re.Pattern[str], str], ...]:
    """What a sentence may end with, and its predicate in English; the first that is found counts."""
    ends = [
        ("(?:でした|だった)", "was"),
        (
            "に?(?:変更(?:に(?:なりました|なった)|され(?:ました|た)|しました)|変わりました|延期(?:に(?:なりました|なった)|され(?:ました|た)))",
            "was moved to",
        ),
        ("に?(?:なりました|なった)|に(?:しました|した|決めました|決めた)", "is now"),
        ("(?:が|は)?好き(?:では|じゃ)(?:ありません|ない)(?:です)?", "do not like"),
        ("アレルギーが(?:あります|ある)", "am allergic to"),
        ("(?:が|は)?大?好き(?:です|だ)?", "like"),
        ("が嫌い(?:です|だ)?", "hate"),
        ("が(?:あります|ある|います|いる)", "have"),
        ("に(?:います|いる)", "is in"),
    ]
    for english, (particle, going, other) in _entries(_JA_VERBS):
        past, done = _forms(english)
        behind = f"(?P<particle{'を§で'.find(particle[1:]) if particle[1:] else ''}>{particle[0]})?"
        ends += [
            (f"{behind}{going}(?:い)?(?:ません|ない)", f"do not {english}"),
            (f"{behind}{going}(?:い)?(?:ました|た)", past),
            (f"{behind}{going}(?:い)?(?:ます|る)", english),
            (f"{behind}{other}(?:ません|ない)", f"do not {english}"),
            (f"{behind}{other}(?:ました)", f"have {done}"),
            (f"{behind}{going[:-1]}{'だ' if going[-1] == 'で' else 'た'}", f"have {done}"),
            (f"{behind}{other}(?:ます|る)", english),
        ]
    ends += [("(?:では|じゃ)(?:ありません|ない)(?:です)?", "is not"), ("(?:です|だ|である)", "is")]
    return tuple((re.compile(f"{form}$"), english) for form, english in ends)


def _japanese_parts(text: str) -> list[str]:
    """The parts before the predicate by their particles: "at Rakuten"."""
    text = re.sub("(.+?)(?:では|じゃ)なく(?:て)?、?(.+)", r"\2、\1のかわりに", text)
    found = list[str]()
    for each in text.split("、"):
        if each.endswith("のかわりに"):
            found += ["instead of", _japanese_noun(each.removesuffix("のかわりに"), owned=False)]
            continue
        at = 0
        while (part := _JA_PARTS.match(each, at)) is not None:
            found += [_JA_WAYS[part["particle"]], _japanese_noun(part["said"], owned=False)]
            at = part.end()
        if each[at:]:
            found.append(_japanese_noun(each[at:], owned=False))
    return [word for word in found if word]


def _japanese_noun(text: str, *, owned: bool) -> str:
    """A noun with what stands before it: "my brother Kenta", "the wifi password"."""
    for form, english in _JA_BEFORE_NOUNS:
        if text.startswith(form) and len(text) > len(form):
            noun = _japanese_noun(text[len(form) :], owned=False)
            return f"my {english} {noun}" if owned else f"{english} {noun}"
    known, parts = _japanese_nouns(), [part for part in text.split("の") if part]
    is_mine = parts[0] in _JA_MINE and len(parts) > 1
    parts = parts[1:] if is_mine else parts
    said = [
        known.get(part) or (_romanised(part) if text == part else _japanese_noun(part, owned=False)) for part in parts
    ]
    if not said:
        return ""
    owner = "my " if is_mine or (owned and said[0] in _JA_PEOPLE) else ""
    if len(said) > 1 and said[0] in _JA_PEOPLE:
        is_named = parts[-1] not in known
        return f"{owner}{' '.join(said)}" if is_named else f"the {' of '.join(said[:0:-1])} of {owner}{said[0]}"
    article = "the " if owned and not owner and (parts[-1] in known or said[-1].startswith("new ")) else ""
    if len(said) > 1 and said[-1].startswith("new "):
        said = ["new", *said[:-1], said[-1][4:]]
    return f"{owner or article}{' '.join(said)}"


@cache
def _japanese_nouns() -> dict[str, str]:
    return {form: english.replace("_", " ") for english, forms in _entries(_JA_NOUNS) for form in forms}


def _romanised(text: str) -> str:
    """A word in Latin letters, always the same for it: names are compared, and not read."""
    if text.isascii() or text.endswith("years old"):
        return text
    if (amount := _YEN.fullmatch(text)) is not None:
        return f"{int(amount['count']) * (10_000 if amount['many'] else 1)} yen"
    return re.sub("[^A-Za-z0-9]", "", in_latin_letters(re.sub("(?:さん|君|ちゃん|様)$", "", text))).capitalize()


_YEN: Final = re.compile(r"(?P<count>\d+)(?P<many>万)?円")


def _agree(predicate: str, subject: str) -> str:
    """A predicate for whom it is about: "live in" of me, "lives in" of others."""
    verb, _, rest = predicate.partition(" ")
    if subject in ("I", "we"):
        verb = {"is": "am", "has": "have"}.get(verb, verb)
    elif rest or verb not in _UNCHANGED:
        verb = {"have": "has", "do": "does", "no": "no"}.get(
            verb, verb if verb in _UNCHANGED or not verb else _third(verb)
        )
    return f"{verb} {rest}".strip()


_UNCHANGED: Final = frozenset(("is", "was", "has", "no", "moved", "quit", "lived", "worked", "had"))
