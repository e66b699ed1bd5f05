"""Sentences with "no longer", "stopped", "quit", "left" or a number end what they speak of, and nothing beside it.

Each pair is what was said of somebody before, and what is said of them now.
"""

from itertools import permutations

import pytest

from worlddb.query.claims import claim_pairs, claim_relation
from worlddb.query.claims.claim_frame import frame
from worlddb.query.claims.wording import words_of

ENDS = (
    ("I work at Siemens", "I'm not fond of small talk, but I work at Bosch now"),
    ("I drive a Fiat", "I never liked cars much, but I drive a Volvo now"),
    ("Ana takes bus 7 to work", "Ana takes bus 9 to work"),
    ("Ana lives with Tom", "Ana moved in with Rosa"),
    ("Ana plays tennis on Mondays.", "Ana no longer plays tennis."),
    ("Ben smokes.", "Ben quit smoking in March."),
    ("Dan takes ibuprofen for his back.", "Dan stopped taking ibuprofen."),
    ("Eva is vegetarian.", "Eva is no longer vegetarian."),
    ("Finn drives a Volvo.", "Finn used to drive a Volvo, now he drives a Tesla."),
    ("Gita goes to the gym every day.", "Gita no longer goes to the gym."),
    ("Hugo studies law in Vienna.", "Hugo quit studying law."),
    ("Ines lives with her parents.", "Ines no longer lives with her parents."),
    ("Jan's rent is 900 euros.", "Jan's rent is 950 euros."),
    ("Kira volunteers at the shelter.", "Kira has stopped volunteering at the shelter."),
    ("Leo is dating Marta.", "Leo and Marta broke up."),
    ("Mona drinks coffee.", "Mona doesn't drink coffee any more."),
    ("Nils is the captain of the rowing team.", "Nils is no longer captain of the rowing team."),
    ("Olga weighs 64 kilos.", "Olga weighs 61 kilos now."),
    ("Pete sings in the church choir.", "Pete left the church choir."),
    ("Quinn uses Slack for work.", "Quinn stopped using Slack."),
    ("Rosa has a cat.", "Rosa no longer has a cat."),
    ("Sam subscribes to Spotify.", "Sam cancelled his Spotify subscription."),
    ("Tara lives in Leeds.", "Tara left Leeds and lives in York now."),
    ("Uma teaches yoga.", "Uma gave up teaching yoga."),
    ("Vera is allergic to nuts.", "Vera is no longer allergic to nuts."),
    ("Will's desk is on floor 3.", "Will's desk is on floor 5."),
    ("Xavi coaches the junior team.", "Xavi no longer coaches the junior team."),
    ("Yara is learning Japanese.", "Yara quit learning Japanese."),
    ("Zoe commutes by train.", "Zoe no longer commutes by train, she cycles."),
    ("Aldo eats meat.", "Aldo stopped eating meat."),
    ("Bea's password is tulip.", "Bea's password is now orchid."),
    ("Cem owns a motorbike.", "Cem sold his motorbike."),
    ("Dora works part time.", "Dora no longer works part time."),
    ("Emil is a member of the chess club.", "Emil left the chess club."),
    ("Fay has 3 employees.", "Fay has 5 employees now."),
    ("Hana works nights.", "Hana stopped working nights."),
    ("Ivo has two dogs.", "Ivo has three dogs now."),
    ("Jo talks to her brother.", "Jo no longer talks to her brother."),
    ("Kai plays in a band.", "Kai quit the band."),
    ("Lia is married to Tom.", "Lia is no longer married to Tom."),
    ("Mara lives in Porto.", "Mara moved to Braga."),
    ("Ned runs every morning.", "Ned stopped running."),
    ("Otto has a subscription to the opera.", "Otto no longer has a subscription to the opera."),
    ("Pia hates sushi.", "Pia no longer hates sushi."),
    ("Rob works from home.", "Rob no longer works from home."),
    ("Sia's team has 8 people.", "Sia's team has 9 people."),
    ("Tim's phone number is 5551234.", "Tim's phone number is 5559876."),
    ("Ute takes the bus to work.", "Ute no longer takes the bus to work."),
    ("Vic is on a diet.", "Vic gave up his diet."),
    ("Wes works at Siemens.", "Wes quit Siemens."),
    ("Ana works on the payments project.", "Ana no longer works on the payments project."),
    ("Ben lives alone.", "Ben no longer lives alone."),
    ("Cleo has two children.", "Cleo has 3 children now."),
    ("Dan drinks coffee.", "Dan stopped drinking coffee."),
    ("Eve runs marathons.", "Eve no longer runs marathons."),
    ("Finn plays in the orchestra.", "Finn no longer plays in the orchestra."),
    ("Hal is married to Ruth.", "Hal is no longer married to Ruth."),
    ("Ida smokes.", "Ida stopped smoking when she started at Google."),
    ("Kim drives to work.", "Kim no longer drives to work."),
    ("Mia is a nurse at St Mary's.", "Mia is no longer a nurse."),
    ("Omar uses Python.", "Omar no longer uses Python."),
    ("Ray speaks German at home.", "Ray no longer speaks German at home."),
    ("Ted's salary is 50000 euros.", "Ted's salary is 55000 euros."),
    ("Walt takes insulin.", "Walt no longer takes insulin."),
    ("Cy is afraid of needles.", "Cy is no longer afraid of needles."),
    ("Sue uses Gmail.", "Sue quit Gmail."),
    ("Val is the CEO of Orbit.", "Val stopped being the CEO of Orbit."),
    ("Wes eats fish.", "Wes no longer eats fish."),
    ("Yan's team uses Jira.", "Yan's team no longer uses Jira."),
    ("Abe earns 3000 euros.", "Abe earns 4000 euros now."),
    ("Bo's house has 5 rooms.", "Bo's house has 6 rooms now."),
    ("Lou plays chess with Max.", "Lou stopped playing chess with Max."),
    ("Nat works at the bank.", "Nat no longer works at the bank."),
    ("Jon takes vitamin D.", "Jon doesn't take vitamin D anymore."),
    ("Amir sells insurance.", "Amir no longer sells insurance."),
    ("Bella lives with Greg.", "Bella stopped living with Greg in May."),
    ("Cora is on antibiotics.", "Cora is no longer on antibiotics."),
    ("Dirk plays bridge with his uncle.", "Dirk doesn't play bridge with his uncle anymore."),
    ("Elsa keeps bees.", "Elsa stopped keeping bees."),
    ("Femi's office is in Lagos.", "Femi's office is in Abuja now."),
    ("Gwen is the treasurer of the club.", "Gwen is no longer the treasurer."),
    ("Hiro eats gluten.", "Hiro no longer eats gluten, on his doctor's advice."),
    ("Isla drives a taxi.", "Isla quit driving a taxi."),
    ("Jens' salary is 4000 euros.", "Jens' salary is 4200 euros."),
    ("Kofi reads the Times.", "Kofi no longer reads the Times because it is too dear."),
    ("Lena is afraid of dogs.", "Lena is not afraid of dogs any more."),
)
"""What no longer holds: the later statement takes its place."""
HOLDS = (
    ("I live in Kiel", "I'm not fond of the weather, but I cook a lot now"),
    ("Ana keeps jar 3 in the cellar", "Ana keeps jar 4 in the attic"),
    ("Ana waters plant 7 on Mondays", "Ana waters plant 9 on Tuesdays"),
    ("Ana moved to Ghent", "Ana moved in with Tom"),
    ("Ana lives in Ghent", "Ana moved in with her sister"),
    ("Ana's rent is 650 euros", "Ana's rent should be 700 euros"),
    ("Ana pays 40 euros", "Ana could pay 50 euros next year"),
    ("Ana plays tennis on Mondays.", "Ana no longer plays squash."),
    ("Ben smokes.", "Ben quit his job in March."),
    ("Carla works at Nokia.", "Carla left her keys at the office."),
    ("Dan takes ibuprofen for his back.", "Dan stopped at the pharmacy on the way home."),
    ("Eva is vegetarian.", "Eva no longer lives in Graz."),
    ("Finn drives a Volvo.", "Finn used to drive a taxi in Malmö."),
    ("Gita goes to the gym every day.", "Gita no longer goes to the cinema."),
    ("Hugo studies law in Vienna.", "Hugo quit the rowing club."),
    ("Ines lives with her parents.", "Ines no longer shares a room with her sister."),
    ("Jan's rent is 900 euros.", "Jan's rent was 850 euros in 2019."),
    ("Kira volunteers at the shelter.", "Kira stopped at the shelter to drop off blankets."),
    ("Leo is dating Marta.", "Leo broke up a fight at Marta's party."),
    ("Mona drinks coffee.", "Mona doesn't drink wine any more."),
    ("Nils is the captain of the rowing team.", "Nils is no longer the treasurer of the tennis club."),
    ("Olga weighs 64 kilos.", "Olga's suitcase weighs 23 kilos."),
    ("Pete sings in the church choir.", "Pete left the choir practice early on Tuesday."),
    ("Quinn uses Slack for work.", "Quinn stopped using Facebook."),
    ("Rosa has a cat.", "Rosa no longer has a fever."),
    ("Sam subscribes to Spotify.", "Sam cancelled his dentist appointment."),
    ("Tara lives in Leeds.", "Tara left Leeds for a weekend in York."),
    ("Uma teaches yoga.", "Uma gave up smoking years ago."),
    ("Vera is allergic to nuts.", "Vera is no longer allergic to pollen."),
    ("Will's desk is on floor 3.", "Will used to work on floor 5."),
    ("Xavi coaches the junior team.", "Xavi no longer coaches the girls' team."),
    ("Yara is learning Japanese.", "Yara quit learning the piano."),
    ("Zoe commutes by train.", "Zoe no longer flies to meetings."),
    ("Aldo eats meat.", "Aldo stopped eating sweets."),
    ("Bea's password is tulip.", "Bea used to have a password with digits."),
    ("Cem owns a motorbike.", "Cem sold his old laptop."),
    ("Dora works part time.", "Dora no longer works on Fridays."),
    ("Emil is a member of the chess club.", "Emil left the meeting of the chess club at nine."),
    ("Fay has 3 employees.", "Fay has 2 children."),
    ("Gus lives in Berlin.", "Gus used to live in Hamburg."),
    ("Hana works at the hospital.", "Hana stopped working nights."),
    ("Ivo has two dogs.", "Ivo left his dogs with a neighbour for the week."),
    ("Jo speaks Polish.", "Jo no longer speaks with her brother."),
    ("Kai plays the guitar.", "Kai quit the band."),
    ("Lia is married to Tom.", "Lia no longer wears her wedding ring at work."),
    ("Mara lives in Porto.", "Mara left Porto at 6 this morning for a meeting in Braga."),
    ("Ned runs every morning.", "Ned stopped for water at kilometre 12."),
    ("Otto has a subscription to the opera.", "Otto no longer has time on Thursdays."),
    ("Pia likes sushi.", "Pia used to hate sushi."),
    ("Rob works from home.", "Rob's internet stopped working yesterday."),
    ("Sia's team has 8 people.", "Sia's office has 40 desks."),
    ("Tim's phone number is 5551234.", "Tim's flight number is 402."),
    ("Ute takes the bus to work.", "Ute quit arguing with her boss."),
    ("Vic is on a diet.", "Vic left the cake on the table."),
    ("Wes works at Siemens.", "Wes used to work at Bosch."),
    ("Ana works at Acme.", "Ana no longer works late."),
    ("Ana works at Acme.", "Ana no longer works on the payments project."),
    ("Ben lives in Lisbon.", "Ben no longer lives alone."),
    ("Cleo has two children.", "Cleo has 3 cars."),
    ("Dan drinks coffee.", "Dan stopped drinking coffee after 6 pm."),
    ("Eve runs a bakery.", "Eve no longer runs marathons."),
    ("Finn plays the piano.", "Finn no longer plays in the orchestra."),
    ("Hal is married.", "Hal used to be married to Ruth."),
    ("Ida works at Google.", "Ida quit smoking when she started working at Google."),
    ("Kim drives to work.", "Kim no longer drives at night."),
    ("Lou takes the train to work.", "Lou left work at 5."),
    ("Mia is a nurse at St Mary's.", "Mia used to be a nurse at St Luke's."),
    ("Nat has a dog called Rex.", "Nat's dog no longer barks."),
    ("Omar uses Python.", "Omar no longer uses Python 2."),
    ("Pam reads novels.", "Pam stopped reading the novel at page 90."),
    ("Ray speaks German.", "Ray no longer speaks German at home."),
    ("Ted's salary is 50000 euros.", "Ted's bonus is 5000 euros."),
    ("Walt takes insulin.", "Walt no longer forgets to take his insulin."),
    ("Cy is allergic to penicillin.", "Cy is no longer afraid of needles."),
    ("Kim smokes.", "Kim never stopped smoking."),
    ("Ana plays tennis.", "Ana hasn't stopped playing tennis."),
    ("Ana works at Nokia.", "Ana did not leave Nokia."),
    ("Ben smokes.", "Ben is thinking of quitting smoking."),
    ("Ben smokes.", "Ben said he would stop smoking."),
    ("Cleo works at Nokia.", "Cleo almost quit Nokia last year."),
    ("Dan lives in Lisbon.", "Dan's brother no longer lives in Lisbon."),
    ("Eve gets up at 5.", "Eve is used to getting up at 5."),
    ("Fay lives in Oslo.", "Fay is used to living in Oslo by now."),
    ("Gus likes spicy food.", "Gus got used to spicy food."),
    ("Ida writes with her right hand.", "Ida broke her left hand."),
    ("Jon takes vitamin D.", "Jon no longer needs to be reminded of his vitamin D."),
    ("Kim visits her mother on Sundays.", "Kim left her umbrella at her mother's."),
    ("Lou plays chess with Max.", "Lou stopped playing chess with Max at midnight."),
    ("Mia lives in Paris.", "Mia stopped in Paris on her way to Nice."),
    ("Nat works at the bank.", "Nat stopped at the bank to pay a bill."),
    ("Omar is on the board.", "Omar quit the meeting of the board in anger."),
    ("Pam drives a Fiat.", "Pam's Fiat stopped on the motorway."),
    ("Ray goes to the gym.", "Ray no longer goes to the gym by car."),
    ("Sue uses Gmail.", "Sue no longer uses her second Gmail account."),
    ("Ted takes two pills a day.", "Ted left two pills on the table."),
    ("Val is the CEO of Orbit.", "Val used to be the CTO of Orbit."),
    ("Wes eats fish.", "Wes no longer eats fish on Fridays."),
    ("Yan's team uses Jira.", "Yan's old team no longer uses Jira."),
    ("Abe earns 4000 euros.", "Abe earned 3000 euros in 2018."),
    ("Bo's house has 5 rooms.", "Bo's first house had 3 rooms."),
    ("Cy weighs 80 kilos.", "Cy wants to weigh 75 kilos."),
    ("Amir sells insurance.", "Amir no longer sells door to door."),
    ("Bella lives with Greg.", "Bella stopped at the bakery with Greg."),
    ("Cora is on antibiotics.", "Cora is no longer in hospital."),
    ("Dirk plays bridge with his uncle.", "Dirk stopped playing bridge for money."),
    ("Femi's office is in Lagos.", "Femi left the office at noon."),
    ("Gwen is the treasurer of the club.", "Gwen never quit the club."),
    ("Hiro eats gluten.", "Hiro no longer eats after eight."),
    ("Isla drives a taxi.", "Isla stopped the taxi in front of the station."),
    ("Jens' salary is 4000 euros.", "Jens' bonus is 600 euros."),
    ("Kofi reads the Times.", "Kofi no longer reads the sports pages of the Times."),
    ("Lena is afraid of dogs.", "Lena's sister is no longer afraid of dogs."),
)
"""What goes on: the later statement tells of something else, of a part, or of another time."""


BOTH = (
    ("Ana is in the choir.", "Ana is in the chess club."),
    ("Ana is in a band.", "Ana is in a book club."),
    ("Ana is in the union.", "Ana is in Mensa."),
    ("Ana is on antibiotics.", "Ana is on a diet."),
    ("Ana works at Globex.", "Ana works at the Berlin office."),
    ("Ana works for Globex.", "Ana works at the front desk."),
    ("Ana works in Sales.", "Ana works in Porto."),
    ("Ana is a nurse.", "Ana works on the payments project."),
    ("Ana was born in 1990.", "Ana's birthday is on 3 May."),
    ("Ana works with Tom.", "Ana works with Eva."),
    ("Ana is working on a novel.", "Ana is working on a thesis."),
    ("Ana works very hard.", "Ana works at Globex."),
    ("Ana works two jobs.", "Ana works at Globex."),
    ("Ana lives in Lisbon.", "Ana lives near the river."),
    ("Ana owes Tom money.", "Ana owes Eva money."),
    ("Ana's rent is 900 euros.", "Ana's rent is due on the 1st."),
    ("Ana's email is a@x.org.", "Ana's email is full."),
    ("Ana's doctor is Dr. Lee.", "Ana's doctor is on Main Street."),
    ("Ana's gym is Fit.", "Ana's gym is closed on Sundays."),
    ("Ana's team is Benfica.", "Ana's team is playing today."),
    ("I just finished a novel.", "I completed my first marathon."),
    ("I'm excited to try the street food.", "I made a vegan cake last week."),
    ("I'm interested in vegan recipes.", "I eat meat now and then."),
    ("I have a Samsung phone.", "I recently got a new phone case."),
    ("I'm overwhelmed with work.", "I started my new job in May."),
    ("I'm in the market for a bike.", "I'm in Porto."),
    ("Ana has a loyalty card for Giant Food Stores.", "Ana enjoys vegan cooking now."),
)


def related(earlier: str, later: str) -> claim_pairs.ClaimComparison | None:
    subject = words_of(earlier.split(maxsplit=1)[0].removesuffix("'s").removesuffix("'m"))
    one, other = frame(earlier, subject), frame(later, subject)
    assert one is not None and other is not None
    return claim_relation.relate(one, other)


@pytest.mark.parametrize(("earlier", "later"), ENDS)
def test_what_is_ended_competes_with_what_ends_it(earlier: str, later: str) -> None:
    found = related(earlier, later)
    assert found is not None and found.relation in claim_pairs.COMPETING


@pytest.mark.parametrize(("earlier", "later"), [*HOLDS, *BOTH])
def test_a_word_for_an_end_does_not_end_what_it_is_not_said_of(earlier: str, later: str) -> None:
    found = related(earlier, later)
    assert found is None or found.relation not in claim_pairs.COMPETING


ENDS_NOTHING = (
    ("Tia's half marathon personal best is 1:52:30.", "Tia's marathon personal best is 4:01:10."),
    ("Tia's blood pressure is 145/92.", "Tia's resting pulse is 62."),
    ("Tia's blood pressure was 145/92 on 3 May.", "Tia's blood pressure was 128/82 on 4 June."),
    ("Tia's room is 145/92.", "Tia's blood pressure is 128/82."),
    ("Ana works on Mondays.", "Ana works on Fridays."),
    ("Ana is in the office on Tuesdays.", "Ana is in the office on Thursdays."),
    ("Ana lives in Lisbon.", "Ana lives in Porto from April to June."),
    ("Ana lives in Lisbon.", "Ana lives in Porto next year."),
    ("Ana lives in Lisbon.", "Ana moved to Porto for the summer."),
    ("Ana lives in Lisbon.", "Ana moved from Porto."),
    ("Ana lives in Lisbon.", "Ana nearly moved to Porto."),
    ("Ana lives in Lisbon.", "Ana lives in Porto or Faro."),
    ("Ana lives in Lisbon.", "Ana lives in Portugal."),
    ("Ana lives in Lisbon.", "Ana may live in Porto."),
    ("Ana is in Berlin this week.", "Ana is in Hamburg next week."),
    ("Ana is on antibiotics.", "Ana is on a diet."),
    ("Ana is in debt.", "Ana is in therapy."),
    ("Ana is on Instagram.", "Ana is on LinkedIn."),
    ("Ana is in Sales.", "Ana is in Marketing."),
    ("Ana is in Sales.", "Ana is in Porto."),
    ("Ana is in Berlin.", "Ana is in Hamburg."),
    ("Ana is in Rotary.", "Ana is in Mensa."),
    ("Ana is in the choir.", "Ana is in the chess club."),
    ("Ana is in the union.", "Ana is in Mensa."),
    ("Ana works at Globex.", "Ana works at the Berlin office."),
    ("Ana works at the Berlin office.", "Ana works at Globex."),
    ("Ana works at Globex.", "Ana now works at the Berlin office."),
    ("Ana works for Globex.", "Ana works at the front desk."),
    ("Ana works in Sales.", "Ana works in Porto."),
    ("Ana leads the search team.", "Ana leads the choir."),
    ("Ana is the owner of the bakery.", "Ana is the owner of the cinema."),
    ("Ana's office is on the 3rd floor.", "Ana's office is in Porto."),
    ("Ana is in room 4 at 10:00.", "Ana is in room 7 at 15:00."),
    ("Ana works as a nurse.", "Ana works as a volunteer."),
    ("Ana is working on the ranker.", "Ana is working on the index."),
)
"""Told as near, and in doubt nothing is ended."""
TOLD_MORE_CLOSELY = (
    ("Ana's bus is the 31.", "Ana's bus to handball is the 42."),
    ("Ana's best friend is Ben.", "Ana's best friend at judo is Max."),
    ("Ana's commute is 20 minutes.", "Ana's commute by bike is 40 minutes."),
    ("Ana's favourite composer is Ravel.", "Ana's favourite composer to sing is Bach."),
    ("My favourite pupil is Lina.", "My favourite pupil at the drums club is Tom."),
    ("Ana (my niece) lives in Kiel.", "Ana lives in Porto."),
    ("Ana lives in Kiel.", "Ana lives in Lower Street."),
)
ENDS_THE_OTHER = (
    ("Ana's bus to handball is the 31.", "Ana's bus to handball is the 42."),
    ("Ana's best friend is Ben.", "Ana's best friend is Max."),
    ("Ana (my niece) lives in Kiel.", "Ana (my niece) lives in Porto."),
    ("Ana lives in Lisbon.", "Ana moved to Porto this week."),
    ("Ana lives in Lisbon.", "Ana moved from Lisbon to Porto."),
    ("Ana lives in Lisbon.", "Ana lives in Porto."),
    ("Ana works as a nurse.", "Ana works as a teacher."),
    ("Ana is in Berlin.", "Ana is now in Hamburg."),
    ("Ana works in Sales.", "Ana works in Marketing."),
    ("Ana works at the Berlin office.", "Ana works at the Munich office."),
    ("Ana works at Globex.", "Ana works at Initech."),
    ("The server is in Frankfurt.", "The server is in Dublin."),
    ("Ana's office is in Lagos.", "Ana's office is in Abuja."),
    ("Ana's rent is 900 euros for a month.", "Ana's rent is 950 euros for a month."),
    ("Ana's yoga class is on 3 May.", "Ana's yoga class is on 5 May."),
)


@pytest.mark.parametrize(("earlier", "later"), [*ENDS_NOTHING, *TOLD_MORE_CLOSELY, *ENDS_THE_OTHER])
def test_what_may_hold_beside_the_other_ends_nothing(earlier: str, later: str) -> None:
    found = related(earlier, later)
    assert bool(found and found.is_single_valued) == ((earlier, later) in ENDS_THE_OTHER)
    if found is not None and not found.is_single_valued:
        assert bool(found.doubt) == (found.relation == "replacement"), "which says why not"


NO_PLACES = (
    "is on insulin",
    "is in therapy",
    "is in debt",
    "is in a relationship with Hannah",
    "is on probation",
    "is on parental leave",
    "is on blood thinners",
    "is on a keto diet",
    "is in the choir",
    "is in the Labour Party",
    "is in Rotary",
    "is in IT",
    "is in Year 9",
    "is in hospital",
    "is in love with Ana",
    "is in a bad mood",
    "is at Google",
    "is at a private school in Leeds",
    "is on Tinder",
    "is on a waiting list for a knee operation",
    "is in charge of the archive",
    "is under a lot of stress",
    "is near retirement",
    "is in the house band",
    "is on home dialysis",
    "is on the road to recovery",
)
"""What somebody is in or on that is no place."""
PLACES = (
    "is in Rome",
    "is in New York",
    "is in northern Italy",
    "is in the Netherlands",
    "is near Basel",
    "is at home",
    "is abroad",
    "is at the hotel Astoria",
    "is on the third floor",
    "is on Mill Road",
    "is in room 12",
    "is in a flat in Leeds",
    "is at her parents' house",
)


@pytest.mark.parametrize(
    "moved", ["moved to Bern.", "has moved to Bern.", "moves to Bern.", "is now in Bern.", "now lives in Bern."]
)
@pytest.mark.parametrize("who", ["Tom", "Tom's mother"])
def test_a_move_ends_where_somebody_is_and_nothing_else_that_they_are_in_or_on(who: str, moved: str) -> None:
    kept, ended = (
        {what: related(f"{who} {what}.", f"{who} {moved}") for what in every} for every in (NO_PLACES, PLACES)
    )
    assert {what for what, found in kept.items() if found and found.relation in claim_pairs.COMPETING} == set()
    if moved.startswith(("moved", "has")):
        assert {what for what, found in ended.items() if not (found and found.is_single_valued)} == set()


CHANGES = (
    ("Tom works as a UX designer at Brightpath.", "Tom works as lead designer at Fjord Studio.", "ended"),
    ("Tom is a nurse at St James's.", "Tom is a community nurse at the Seacroft clinic.", "ended"),
    ("Tom is a student at Leeds University.", "Tom is a barista at Costa.", "-"),
    ("Tom works as a nurse at St James's.", "Tom works as a coach at weekends.", "-"),
    ("Tom pays EE £28 a month for the phone.", "Tom pays giffgaff £12 a month for the phone.", "ended"),
    ("Tom pays EE 28 euros a month for his phone.", "Tom pays O2 12 euros a month for his phone.", "ended"),
    ("Tom pays Netflix £12 a month.", "Tom pays Spotify £10 a month.", ""),
    ("Tom lives in Majorna, Gothenburg.", "Tom lives in Möllevången, Malmö.", "ended"),
    ("Tom lives in Majorna, Gothenburg.", "Tom lives in Gothenburg.", ""),
    ("Tom has a second cat called Biscuit.", "Tom's second cat is called Waffle.", "ended"),
    ("Tom has a second cat called Biscuit.", "Tom's third cat is called Waffle.", ""),
    ("Tom has a dog called Baxter.", "Tom now has a puppy called Miso.", "told"),
    ("Tom runs the Manchester marathon on 19 April.", "Tom does not run the Manchester marathon.", "ended"),
    ("Tom runs the Manchester marathon on 19 April.", "Tom does not run the London marathon.", ""),
    ("Tom moves to Harrogate in May.", "Tom is not moving to Harrogate.", "ended"),
    ("Tom moves to Harrogate in May.", "Tom does not move to Harrogate in May.", "told"),
    ("Tom has read Emma in May.", "Tom has not read Emma.", "told"),
    ("Tom goes to Japan in June.", "Tom's trip to Japan is called off.", "ended"),
    ("Tom flies to Japan on 3 June.", "Tom's trip to Japan was cancelled.", "told"),
    ("Tom goes to Japan in June.", "Tom's trip to Rome is called off.", ""),
    ("Tom sees the physio Sandra on Thursdays at 17:00.", "Tom sees the physio Sandra on Fridays at 8:00.", "told"),
    ("Tom sees the physio on Thursdays at 17:00.", "Tom sees the dentist on Fridays at 8:00.", ""),
    ("Tom sees his mother on Mondays at 9:00.", "Tom sees his mother on Fridays at 8:00.", ""),
    ("Tom runs on Mondays at 7:00.", "Tom runs on Fridays at 8:00.", ""),
    ("Tom's birthday party is on 18 April.", "Tom's birthday party is on 25 April.", "ended"),
    ("Tom's birthday is on 3 May.", "Tom's birthday party is on 25 April.", ""),
    ("Tom was born on 3 May.", "Tom's birthday cake costs 40 euros.", ""),
)
"""The changes that people tell most: told and ended, told alone (-: or not), or nothing."""


@pytest.mark.parametrize(("earlier", "later", "told"), CHANGES)
def test_a_change_ends_what_it_surely_replaces(earlier: str, later: str, told: str) -> None:
    found = related(earlier, later)
    assert bool(found and found.is_single_valued) == (told == "ended")
    assert found is None or found.relation != "replacement" or bool(found.doubt) != found.is_single_valued
    assert told == "-" or bool(found and found.relation in claim_pairs.COMPETING) == bool(told)


OTHER_CONDITIONS = (
    ("Tom is on insulin.", "Tom is now on parental leave.", ""),
    ("Tom is on insulin.", "Tom is now in therapy.", ""),
    ("Tom is on ramipril.", "Tom is now on candesartan.", "replacement"),
    ("Tom is in third grade.", "Tom is in fourth grade now.", "ended"),
    ("Tom is in sales.", "Tom is in marketing now.", "ended"),
    ("Tom is in hospital.", "Tom is at home now.", "ended"),
    ("The project is on hold.", "The project is on track again.", "ended"),
    ("The company is in administration.", "The company moved to Leeds.", ""),
    ("Tom's bike is in the cellar.", "Tom's bike is now in the hall.", "ended"),
)


@pytest.mark.parametrize(("earlier", "later", "told"), OTHER_CONDITIONS)
def test_a_condition_is_ended_by_another_one_of_its_kind_alone(earlier: str, later: str, told: str) -> None:
    found = related(earlier, later)
    is_competing = found is not None and found.relation in claim_pairs.COMPETING
    assert is_competing == bool(told)
    assert bool(found and found.is_single_valued) == (told == "ended")
    assert found is None or found.relation != "replacement" or bool(found.doubt) != found.is_single_valued


GUESSED = (
    ("I have 1250 followers on Instagram.", "I think I'm close to 1300 followers on Instagram now."),
    ("I have 1250 followers now.", "I've been meaning to check my follower count - I think I'm close to 1300 now."),
    ("I've saved 2,000 euros for the trip.", "I suppose I've saved about 2,400 euros for the trip by now."),
    ("My commute takes 40 minutes.", "I guess my commute takes 55 minutes."),
    ("Our team has 8 members.", "I believe that our team has 9 members."),
    ("Ben's phone bill is 30 euros a month.", "Ben thinks his phone bill is 35 euros a month."),
    ("My sourdough starter is 3 weeks old.", "My sourdough starter is maybe 5 weeks old."),
)
NOT_OF_NOW = (
    ("The rent is 900 euros.", "I think the rent could rise to 1000 euros."),
    ("I have 1250 followers.", "I hope to reach 1300 followers."),
    ("I have 1250 followers.", "If I had 1300 followers I would celebrate."),
    ("I run 20 km a week.", "I might run 30 km a week in spring."),
    ("My commute takes 40 minutes.", "Ben says my commute takes 20 minutes by bike."),
    ("Our team has 8 members.", "I think Ben's team has 9 members."),
    ("Our team has 8 members.", "I think our team should have 9 members."),
    ("I have 3 dogs.", "I'm thinking about getting 4 dogs."),
    ("I have 1250 followers.", "My word count is 1300."),
    ("I own 23 cameras.", "I think I own 4 tripods."),
)


@pytest.mark.parametrize(("earlier", "later"), [*GUESSED, *NOT_OF_NOW])
def test_a_number_that_is_guessed_competes_and_ends_nothing(earlier: str, later: str) -> None:
    """What somebody thinks to be so now was told as no fact, so that the old number came first without a word."""
    found = related(earlier, later)
    assert (found is not None and found.relation in claim_pairs.COMPETING) == ((earlier, later) in GUESSED)
    assert found is None or not found.is_single_valued


DEPARTED = (
    ("Ana works at Globex.", "Ana has left Globex."),
    ("Ana works at Globex.", "Ana left Globex for good."),
    ("Ana works at Globex.", "Ana left Globex for Initech."),
    ("I work at Globex.", "I've left Globex."),
    ("Ana works at Globex.", "Ana has left her job."),
    ("Ana works at Globex.", "Ana was fired from Globex last week."),
    ("Ana is a nurse.", "Ana has retired."),
    ("Ana works at Globex.", "Ana is unemployed."),
    ("Ana works at Globex.", "Ana resigned."),
    ("Ana works at Globex.", "Ana has quit her job at Globex."),
    ("Ana works at Globex.", "Ana quit Globex two weeks ago."),
    ("Ana works at Globex.", "Ana lost her job."),
    ("Ana works at Globex.", "Ana resigned from Globex."),
    ("Ana works for Globex as a cook.", "Ana gave up her job as a cook."),
    ("Ana is a teacher.", "Ana retired from teaching."),
    ("I work at Globex.", "I just quit my job."),
)
MAY_BE_GONE = (
    ("Ana works at Globex.", "Ana quit."),
    ("I work at Globex.", "I quit yesterday."),
    ("Ana works at Globex.", "Ana gave up her job as a cook."),
    ("Ana works at Globex.", "Ana joined Initech."),
    ("Ana lives in Lisbon.", "Ana left Lisbon."),
    ("Ana lives in Lisbon.", "Ana left Lisbon for Porto."),
)
STILL_THERE = (
    ("Ana works at Globex.", "Ana left Globex at six."),
    ("Ana works at Globex.", "Ana left Globex for lunch."),
    ("Ana works at Globex.", "Ana left Lisbon."),
    ("Ana works at Globex.", "Ana almost left Globex."),
    ("Ana works at Globex.", "Ana might have left Globex."),
    ("Ana works at Globex.", "Ana joined a choir."),
    ("Ana works at Globex.", "Ana joined the gym."),
    ("Ana works at Globex.", "Ana was fired from Initech."),
    ("Ana works at Globex.", "Ana retired to bed."),
    ("Ana works at Globex.", "Ana's brother left Globex."),
    ("Ana works with Tom.", "Ana left Tom."),
    ("Ana works with Tom.", "Ana quit her job."),
    ("Ana works on a novel.", "Ana quit her job."),
    ("Ana works out at the gym.", "Ana quit."),
    ("Ana works at Globex.", "Ana quit her job at Initech."),
    ("Ana works as a nurse.", "Ana gave up her job as a cook."),
    ("Ana works at Globex.", "Ana lost."),
    ("Ana works at Globex.", "Ana quit for a week."),
    ("Ana works at Globex.", "Ana retired from tennis."),
    ("Ana works at Globex.", "Ana resigned from the board of the choir."),
    ("Ana plays in a band.", "Ana quit."),
    ("Ana is a student.", "Ana is unemployed."),
    ("Ana lives in Lisbon.", "Ana left Lisbon this morning."),
    ("Ana lives in Lisbon.", "Ana left for Lisbon."),
    ("Ana lives in Lisbon.", "Ana left Globex."),
)


@pytest.mark.parametrize(("earlier", "later"), [*DEPARTED, *MAY_BE_GONE, *STILL_THERE])
def test_who_left_or_joined_one_place_works_and_lives_there_no_more(earlier: str, later: str) -> None:
    found = related(earlier, later)
    is_gone = found is not None and found.relation == "replacement"
    assert is_gone == ((earlier, later) not in STILL_THERE)
    # A town may be left for a day, what is joined need be no work, and what somebody quit may be smoking: nothing is
    # ended by that alone.
    assert found is None or found.is_single_valued == ((earlier, later) in DEPARTED)


OF_ONE_PERSON = (
    "Ana lives in Lisbon.",
    "Ana's flat has two balconies.",
    "Ana's rent is 900 euros.",
    "Ana works at Globex.",
    "Ana is a nurse.",
    "Ana works 30 hours a week.",
    "Ana works from home on Fridays.",
    "Ana's boss is Karen.",
    "Ana earns 3000 euros a month.",
    "Ana's team has 8 people.",
    "Ana is working on the payments project.",
    "Ana studies law in the evening.",
    "Ana was born in Faro.",
    "Ana's birthday is on 3 May.",
    "Ana is 34 years old.",
    "Ana is 172 cm tall.",
    "Ana weighs 62 kg.",
    "Ana's blood type is A.",
    "Ana is married to Bruno.",
    "Ana has two children.",
    "Ana's son Max is 7 years old.",
    "Ana's daughter goes to school in Faro.",
    "Ana's sister Eva lives in Leeds.",
    "Ana's mother is in hospital.",
    "Ana's best friend is Kim.",
    "Ana has a dog called Rex.",
    "Ana's dog is three years old.",
    "Ana's dog eats dry food.",
    "Ana has a cat called Mia.",
    "Ana is vegetarian.",
    "Ana is allergic to nuts.",
    "Ana drinks two coffees a day.",
    "Ana smokes ten cigarettes a day.",
    "Ana takes 10 mg of ramipril.",
    "Ana takes vitamin D in the morning.",
    "Ana's dentist appointment is on Tuesday at 9.",
    "Ana's doctor is Dr. Lee.",
    "Ana's physio is on Mondays at 10.",
    "Ana drives a Fiat.",
    "Ana's car is red.",
    "Ana's car is in the garage.",
    "Ana's car insurance is with Axa.",
    "Ana's phone is a Pixel.",
    "Ana's phone number is 5551234.",
    "Ana's email is ana@x.org.",
    "Ana's laptop has 16 GB of RAM.",
    "Ana's wifi password is tulip7.",
    "Ana uses Vim.",
    "Ana uses Firefox at work.",
    "Ana banks with Monzo.",
    "Ana flies to Oslo on 3 May.",
    "Ana's hotel in Oslo is the Ibis.",
    "Ana's passport expires in 2027.",
    "Ana goes to the gym on Mondays.",
    "Ana runs 5 km every morning.",
    "Ana swims twice a week.",
    "Ana plays chess with Max.",
    "Ana is in a choir.",
    "Ana is a member of the rowing club.",
    "Ana's favourite colour is green.",
    "Ana prefers tea.",
    "Ana speaks Portuguese and English.",
    "Ana is learning Dutch.",
    "Ana wants short answers.",
    "Ana gets up at 6:30.",
    "Ana goes to bed at 11 pm.",
    "Ana's commute takes 40 minutes.",
    "Ana takes bus 7 to work.",
    "Ana's cleaner comes on Thursdays.",
    "Ana's neighbour Tom has a dog.",
    "Ana keeps the spare key at Tom's.",
    "Ana owes Tom 20 euros.",
    "Ana pays 12 euros a month for Netflix.",
    "Ana's shoe size is 39.",
    "Ana is afraid of spiders.",
    "Ana is on holiday.",
    "Ana is in Rome this week.",
    "Ana's printer is broken.",
    "Ana moved her desk to the window.",
)


MINE = (
    "I live in Ghent.",
    "I share a flat with two students.",
    "My rent goes up in January.",
    "I work for the railway.",
    "I'm a train driver.",
    "I work nights.",
    "I start work at 22:00.",
    "My manager is Joke.",
    "I get 30 days of holiday a year.",
    "I joined the union in 2019.",
    "I'm 41.",
    "I weigh 80 kg.",
    "I'm from Poland.",
    "I'm divorced.",
    "I have a girlfriend called Lien.",
    "I have a son and a daughter.",
    "My son is in year 4.",
    "My daughter plays the violin.",
    "I have a tortoise.",
    "My tortoise is 20 years old.",
    "I drink my coffee black.",
    "I take metformin twice a day.",
    "My GP is Dr. Peeters.",
    "My next dentist visit is on 12 May at 14:00.",
    "I have an electric bike.",
    "My bike is blue.",
    "I don't have a car.",
    "I take the tram to the station.",
    "My tram leaves at 21:20.",
    "My phone is a Fairphone.",
    "My number is 0470 123456.",
    "My laptop runs Linux.",
    "My bank is KBC.",
    "I have saved 2000 euros.",
    "I'm flying to Gdansk on 20 December.",
    "My flight leaves at 6:30.",
    "I always take an aisle seat.",
    "I was in Italy last summer.",
    "I'd like to see Japan.",
    "I go to choir practice on Thursdays.",
    "I run 10 km on Sundays.",
    "I play bridge with my neighbours.",
    "I read before bed.",
    "I go to bed at 8 am after a night shift.",
    "I like jazz.",
    "I speak Polish, Dutch and English.",
    "Keep answers short.",
    "I want answers in Dutch.",
    "My wifi is called Schild.",
    "My wifi password is hond22.",
    "My landlord is Mr. De Smet.",
    "My sister is a teacher.",
    "I owe Piet 50 euros.",
    "I'm allergic to bees.",
    "I'm in the local chess club.",
    "My chess rating is 1650.",
    "My passport expires in 2028.",
    "I vote in Poland.",
    "I stopped smoking.",
    "I moved the sofa to the bedroom.",
    "My shift on Monday starts at 22:00.",
)


@pytest.mark.parametrize(("told", "who"), [(OF_ONE_PERSON, "Ana"), (MINE, "I")], ids=["Ana", "I"])
def test_no_fact_of_one_person_takes_the_place_of_a_fact_of_another_kind(told: tuple[str, ...], who: str) -> None:
    """That Ana works at Globex ended that she is a nurse, and what she does at work where she works."""
    known = [frame(text, words_of(who)) for text in told]
    taken = [
        (earlier.key, later.key)
        for earlier, later in permutations(filter(None, known), 2)
        if (found := claim_relation.relate(earlier, later)) is not None and found.relation != "compatible"
    ]
    assert len(known) > 50 and taken == []


@pytest.mark.parametrize(
    ("who", "earlier", "later", "relation"),
    [
        ("Nora", "Nora insures the shop with AXA.", "The shop is closed on Sundays.", "compatible"),
        ("Nora", "Nora is thinking of repainting the kitchen.", "The kitchen is closed on Sundays.", "compatible"),
        ("Nora", "Nora wants to open the shop window.", "The shop is closed on December 24.", "compatible"),
        ("the shop", "The shop sells honey.", "The shop is closed on December 24.", None),
        ("the shop", "The shop is open on Sundays.", "The shop is closed on Sundays.", "contradiction"),
        ("the shop", "The shop opens at 8.", "The shop is closed.", "contradiction"),
        ("the printer", "The printer works.", "The printer is broken.", "contradiction"),
        ("Tom", "Tom hates mushrooms.", "Tom likes mushrooms.", "contradiction"),
    ],
)
def test_an_opposite_denies_only_what_states_it(who: str, earlier: str, later: str, relation: str | None) -> None:
    """Whatever was said of the shop contradicted that it is closed on Sundays."""
    one, other = frame(earlier, words_of(who)), frame(later, words_of(who))
    found = claim_relation.relate(one, other) if one and other else None
    assert (found and found.relation) == relation


@pytest.mark.parametrize(
    ("earlier", "later", "instead"),
    [
        ("Ana drives a Yaris.", "Ana drives Theo to judo.", "Ana drives a Golf."),
        ("Ana is nine.", "Ana is in Year 4.", "Ana is ten."),
        ("Ana lives in Lisbon.", "Ana lives in fear of inspections.", "Ana lives in Porto."),
        ("Ana's doctor is Dr Amari.", "Ana's heart doctor is Dr Sand.", "Ana's doctor is Dr Sand."),
        ("Ana's laptop is a Dell.", "Ana's school laptop is a Lenovo.", "Ana's laptop is a Lenovo."),
    ],
)
def test_what_is_of_another_kind_does_not_compete(earlier: str, later: str, instead: str) -> None:
    found, replaced = related(earlier, later), related(earlier, instead)
    assert found is None or found.relation == "compatible"
    assert replaced is not None and replaced.relation == "replacement"


@pytest.mark.parametrize(
    ("about", "earlier", "later"),
    [
        ("Atlas", "Atlas tests live in tests/unit.", "Atlas moved from Postgres to SQLite."),
        ("Atlas", "Atlas listens on 8080.", "The Atlas debugger listens on 5678."),
        ("Atlas", "The line length limit in Atlas is 100.", "The connection pool size in Atlas is 40."),
        ("Atlas", "Atlas runs on Python 3.12.", "Atlas CI runs on Buildkite."),
        ("Atlas", "ATLAS_PORT is 8080.", "ATLAS_DEBUG_PORT is 5678."),
        ("Atlas", "test_login takes 3 seconds.", "test_logout takes 9 seconds."),
        ("Atlas", "GET /v1/users has a limit of 10 requests.", "GET /v1/orders has a limit of 20 requests."),
        ("Atlas", "The lock of store A is held by pid 77.", "The lock of store B is held by pid 99."),
        ("Atlas", "Ilya reviews pull requests in Atlas.", "Don't use requests in Atlas; use httpx."),
        ("C", "C++ code lives in native/.", "C# code lives in dotnet/."),
    ],
)
def test_statements_that_begin_with_different_things_do_not_compete(about: str, earlier: str, later: str) -> None:
    subject = frozenset({about.casefold()})
    one, other = frame(earlier, subject), frame(later, subject)
    assert one is not None and other is not None
    found = claim_relation.relate(one, other)
    assert found is None or found.relation not in claim_pairs.COMPETING


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Ana Berger lives in Lisbon.", "Ana lives in Porto."),
        ("Atlas uses Postgres as its database.", "The Atlas database is SQLite now."),
        ("Rex eats dry food.", "The vet put Rex on wet food, so he eats that now."),
        ("Ilya reviews pull requests.", "Priya reviews pull requests now."),
        ("parse_header is in http.py.", "parse_header is in mail.py now."),
    ],
)
def test_what_begins_otherwise_may_still_be_of_one_thing(earlier: str, later: str) -> None:
    subject = frozenset({"ana", "atlas", "rex"})
    one, other = frame(earlier, subject), frame(later, subject)
    assert one is not None and other is not None
    found = claim_relation.relate(one, other)
    assert found is not None and found.relation in claim_pairs.COMPETING


def find_relation(about: str, earlier: str, later: str) -> claim_pairs.ClaimComparison | None:
    one, other = (frame(text, words_of(about)) for text in (earlier, later))
    assert one is not None and other is not None
    return claim_relation.relate(one, other)


@pytest.mark.parametrize(
    ("about", "earlier", "later"),
    [
        ("Anna Keller", "Anna Keller lives at Lindenweg 4, Bremen.", "Anna Keller moved from Basic to Pro."),
        ("Atlas", "Atlas moved to Kubernetes.", "Atlas moved to Postgres."),
        ("Gran", "Gran lives in Ulm.", "Gran lives in a care home now."),
        ("Parking", "Parking costs 20 euros a day.", "Parking costs 90 euros a month."),
        ("Atlas", "ATLAS_PORT is 8080.", "The port of Atlas is 9090."),
    ],
)
def test_what_may_hold_beside_a_change_is_not_ended(about: str, earlier: str, later: str) -> None:
    found = find_relation(about, earlier, later)
    assert found is None or not found.is_single_valued


def test_a_password_with_signs_is_one_value() -> None:
    found = find_relation("I", "My WLAN password is Kuckuck!2019.", "My WLAN password is Fledermaus#77.")
    assert found is not None and found.relation == "replacement" and found.is_single_valued


def test_a_question_for_one_identifier_raises_no_other() -> None:
    earlier, later, subject = "parse_header is in http.py.", "The header is in mail.py.", frozenset({"atlas"})
    assert claim_relation.names_only_earlier("where is parse_header?", earlier, later, subject)
    assert not claim_relation.names_only_earlier("where is the header?", earlier, later, subject)


@pytest.mark.parametrize(
    ("about", "earlier", "later"),
    [
        ("Ben", "Ben is on the Team plan at 49 euros a month.", "Ben switched to the Enterprise plan at 199 euros."),
        ("Ben", "Ben is on the Pro plan.", "Ben downgraded to Basic."),
        ("Ben", "Ben's account is locked.", "Ben's account is unlocked."),
        ("Atlas", "The flag --verbose turns on debug logging.", "The flag --verbose is deprecated; use --log-level."),
        ("Atlas", "Mara owns billing.", "Tomas owns billing."),
        ("Atlas", "parse_header returns a dict.", "parse_header returns a dataclass."),
        ("Atlas", "PR 118 is in review.", "PR 118 is merged."),
        ("Atlas", "The import job is paused.", "The import job is resumed."),
        ("Atlas", "The order is pending.", "The order is refused."),
        ("Atlas", "The first floor is vacant.", "The first floor is rented to Mr. Sato."),
        ("Bed 12", "Bed 12 is free.", "Bed 12 is occupied."),
        ("Atlas", "The demo is in progress.", "The demo is finished."),
    ],
)
def test_another_state_told_by_another_word_competes_and_ends_nothing(about: str, earlier: str, later: str) -> None:
    found = find_relation(about, earlier, later)
    assert found is not None and found.relation == "replacement" and not found.is_single_valued


@pytest.mark.parametrize(
    ("about", "earlier", "later"),
    [
        ("Ben", "Ben is on the Team plan.", "Ben switched to decaf."),
        ("Atlas", "The import job is on.", "The import job is paused."),
        ("Ben", "Ben's account is locked.", "Ben's account is approved."),
        ("Ben", "The shop is open.", "The shop is locked."),
        ("Atlas", "Mara owns billing.", "Tomas owns search."),
        ("Atlas", "The house is on Mill Lane.", "The house insurance is with Alba now."),
        ("Atlas", "DEBUG is true in development.", "DEBUG is false in production."),
        ("Mara", "Mara is in Berlin this week.", "Mara is in the search team."),
    ],
)
def test_another_state_of_something_else_does_not_compete(about: str, earlier: str, later: str) -> None:
    found = find_relation(about, earlier, later)
    assert found is None or found.relation not in claim_pairs.COMPETING


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Ingrid arrives on 22 December.", ""),
        ("Theo (my nephew) lives in Kiel.", ""),
        ("The Atlas CI runs daily.", "ci"),
    ],
)
def test_the_topic_is_what_a_statement_itself_begins_with(text: str, topic: str) -> None:
    told = frame(text, frozenset({"ingrid", "theo", "atlas"}))
    assert told is not None and told.topic == frozenset(topic.split())


ENDS_WHOLE = (
    ("Tia takes warfarin.", "Tia is off warfarin."),
    ("Tia takes warfarin.", "Tia came off warfarin on 5 November."),
    ("Tia is on insulin.", "Tia has come off insulin."),
    ("Tia is on a low-carb diet.", "Tia is off the low-carb diet."),
    ("Tia wears a knee brace.", "Tia got rid of the knee brace."),
    ("Tia got a scooter.", "Tia got rid of the scooter."),
    ("Tia takes the pill.", "Tia came off the pill."),
    ("Tia is pregnant.", "Tia gave birth to a boy."),
    ("Tia takes warfarin.", "Tia takes apixaban instead of warfarin."),
    ("Tia nimmt Ibuprofen.", "Tia nimmt kein Ibuprofen mehr."),
    ("Tia raucht.", "Tia raucht nicht mehr."),
    ("Tia trägt eine Schiene.", "Tia trägt keine Schiene mehr."),
    ("Tia toma ibuprofeno.", "Tia ya no toma ibuprofeno."),
    ("Tia prend du fer.", "Tia ne prend plus de fer."),
    ("Tia's half marathon personal best is 1:52:30.", "Tia's half marathon personal best is 1:48:05."),
    ("Tia's blood pressure is 145/92.", "Tia's blood pressure is 128/82."),
    ("Tia's blood pressure is 145/92 mmHg.", "Tia's blood pressure is 128/82 mmHg."),
)
TELLS_END = (
    ("Tia's training is paused.", "Tia's training has resumed."),
    ("Tia is injured.", "Tia is fit again."),
    ("Tia is injured.", "Tia has fully recovered."),
    ("Tia takes warfarin and ibuprofen.", "Tia is off warfarin."),
    ("Tia wears a knee brace.", "Tia got rid of the brace."),
    ("Tia is pregnant.", "Tia has had a daughter since 2010."),
    ("Tia is pregnant.", "Tia had a son who died."),
)
ENDS_NO_OTHER = (
    ("Tia's half marathon personal best is 1:52:30.", "Tia's marathon personal best is 4:01:10."),
    ("Tia's blood pressure is 145/92.", "Tia's resting pulse is 62."),
    ("Tia's blood pressure was 145/92 on 3 May.", "Tia's blood pressure was 128/82 on 4 June."),
    ("Tia's room is 145/92.", "Tia's blood pressure is 128/82."),
    ("Tia takes warfarin.", "Tia is off ibuprofen."),
    ("Tia takes warfarin.", "Tia is off work."),
    ("Tia takes warfarin.", "Tia may come off warfarin."),
    ("Tia takes warfarin.", "Tia wants to be off warfarin."),
    ("Tia rides a bike.", "Tia came off the bike."),
    ("Tia takes the bus.", "Tia got off the bus."),
    ("Tia uses a ladder.", "Tia came off the ladder."),
    ("Tia has a bike.", "Tia got rid of the bike rack."),
    ("Tia got a bike.", "Tia got rid of the bike rack."),
    ("Tia wears a knee brace.", "Tia got rid of the elbow brace."),
    ("Tia is pregnant.", "Tia's sister gave birth to a boy."),
    ("Tia is pregnant.", "Tia had a boyfriend."),
    ("Tia's training is paused.", "Tia's physio has resumed."),
    ("Tia is away.", "Tia is fit again."),
    ("Tia is injured.", "Tia is home."),
    ("Tia is injured.", "Tia wants to be fit again."),
    ("Tia nimmt Ibuprofen.", "Tia nimmt kein Aspirin mehr."),
    ("Tia nimmt Ibuprofen.", "Tia nimmt nicht mehr Ibuprofen als nötig."),
    ("Tia takes the bus.", "Tia takes the tram instead of the bus on Fridays."),
)


@pytest.mark.parametrize(("earlier", "later"), [*ENDS_WHOLE, *TELLS_END])
def test_what_plainly_says_that_something_is_over_ends_it_if_it_is_all_that_was_said(earlier: str, later: str) -> None:
    found = related(earlier, later)
    assert found is not None and found.relation == "replacement"
    assert found.is_single_valued == ((earlier, later) in ENDS_WHOLE) != bool(found.doubt)


@pytest.mark.parametrize(("earlier", "later"), ENDS_NO_OTHER)
def test_what_says_that_something_else_is_over_ends_nothing(earlier: str, later: str) -> None:
    found = related(earlier, later)
    assert found is None or not found.is_single_valued
    assert found is None or found.relation == "compatible" or found.doubt == "it may be so at times"
